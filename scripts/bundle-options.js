import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** How Chronicle is bundled: by the build, and by the tests that run what was bundled. */
export const BUNDLE_OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // Native code, the caller's test runner, and what a build can do without.
  external: ["@parcel/watcher", "vitest", "fast-check"],
  // Packages whose main file hides what it requires, or requires at run time what a module cannot.
  alias: {
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    yaml: join(root, "node_modules/yaml/browser/index.js"),
  },
};
