import { fileURLToPath } from "node:url";

/** The relative URL of the package's folder, from this module in `dist/` or in `src/daemon/`. */
const PACKAGE = import.meta.url.includes("/src/daemon/") ? "../../" : "../";

export function launcherPath(): string {
  return fileURLToPath(new URL(`${PACKAGE}bin/chronicle.js`, import.meta.url));
}

export function hookEntryPath(): string {
  return fileURLToPath(new URL(`${PACKAGE}dist/hook.cjs`, import.meta.url));
}

export function hookImageEntryPath(): string {
  return fileURLToPath(new URL(`${PACKAGE}dist/hook-image.cjs`, import.meta.url));
}

/** Returns the folder with the built files of the page. */
export function pageFolder(): string {
  return fileURLToPath(new URL(`${PACKAGE}dist/ui`, import.meta.url));
}

export function openApiPath(): string {
  return fileURLToPath(new URL(`${PACKAGE}docs/openapi.json`, import.meta.url));
}
