// Light, dark, or what the system says. Not a module: it runs before the first paint, so nothing flashes.
(function () {
  const KEY = "penstock.theme";
  const ORDER = ["auto", "light", "dark"];
  const read = () => {
    try {
      return ORDER.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "auto";
    } catch {
      return "auto";
    }
  };
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
  };
  apply(read());
  window.penstockTheme = {
    get current() {
      return document.documentElement.dataset.theme;
    },
    next() {
      const theme = ORDER[(ORDER.indexOf(this.current) + 1) % ORDER.length];
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // a browser that keeps nothing: for this page, then
      }
      apply(theme);
      return theme;
    },
  };
})();
