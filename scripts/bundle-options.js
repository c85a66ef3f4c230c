import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Node's own modules are taken as they are, instead of imported: an import evaluates every export of theirs, and what
 * hides behind some (streams, WebCrypto) takes 10 ms at each start of a command or a hook.
 */
const BUILTINS = {
  name: "builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin" } : { path, external: true },
    );
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

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
  plugins: [BUILTINS],
  // Packages whose main file hides what it requires, or requires at run time what a module cannot.
  alias: {
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    yaml: join(root, "node_modules/yaml/browser/index.js"),
  },
};
