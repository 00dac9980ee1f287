// Runs before anything is painted: the chosen colours are there from the first frame on.
"use strict";
try {
  const theme = localStorage.getItem("clearway-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // storage is closed to this page: the system's colours it is
}
