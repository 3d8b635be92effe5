"""The dashboard: plain HTML, CSS and ES modules over the REST interface. Nothing is built or fetched elsewhere.

static/index.html   the one page                   static/js/main.js    routes, header, refreshing
static/css/         colours, layout, parts         static/js/pages/     overview, job, task managers
static/js/dom.js    elements, and changing them    static/js/tabs/      what a job's page shows
"""

from penstock.web.files import HEADERS, Asset, asset

__all__ = ["HEADERS", "Asset", "asset"]
