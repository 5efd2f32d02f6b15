// This runs before the first paint, as a part of the document. It sets the theme
// that the person has chosen, and hides the heading of Learn, which the document
// has, if the address names another view. The script of the page, which takes
// longer to run than a frame, runs after the first one; until then a link may be
// followed, so the token of the address is kept here for it.

try {
  const theme = localStorage.getItem('tenon.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* local storage is not available */ }
window.loginToken = /^#token=([A-Za-z0-9]+)$/.exec(location.hash)?.[1];
if (!window.loginToken && !/^(#\/?)?$/.test(location.hash)) document.documentElement.classList.add('elsewhere');

addEventListener('DOMContentLoaded', () => {
  const begin = () => import(document.querySelector('link[rel=modulepreload]').href);
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, document.hidden ? 0 : 300); // a page that is not visible has no frames
});
