import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Modules of Node's that are dear to load, and that many commands and hooks do without. Nothing in them needs `this`. */
const DEAR = new Set(["child_process", "crypto", "http", "os", "sqlite", "tty", "worker_threads", "zlib"]);

/**
 * Node's own modules are taken as they are, instead of imported: an import evaluates every export of theirs, and what
 * hides behind some (streams, WebCrypto) takes 10 ms at each start of a command or a hook. The dear ones are only loaded
 * when something of theirs is first used.
 */
const BUILTINS = {
  name: "builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin" } : undefined,
    );
    // A package of the older kind requires them, by either name; a module has no `require`.
    build.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) =>
      kind === "require-call" && isBuiltin(path) ? { path, namespace: "required" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
      const real = `process.getBuiltinModule(${JSON.stringify(path)})`;
      const isDear = DEAR.has(path.slice("node:".length));
      return { contents: isDear ? loadedWhenUsed(real) : `module.exports = ${real};` };
    });
  },
};

/**
 * A module without properties of its own: whoever imports it has none to copy, and inherits them. The first one that is
 * asked for brings all of them, and is found before the proxy from then on.
 */
function loadedWhenUsed(real) {
  return `
const all = Object.create(new Proxy({}, {
  get(_, name) {
    if (name === "__esModule") return undefined;
    const real = ${real};
    Object.defineProperties(all, Object.getOwnPropertyDescriptors(real));
    return real[name];
  },
}));
module.exports = Object.create(all);
`;
}

/**
 * No file of ours does anything by being loaded, but for the entries: what is not used is left out together with what
 * it imports. Schemas are made of calls, which could have effects for all that the bundler knows.
 */
const ONLY_WHAT_IS_USED = {
  name: "only-what-is-used",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir, kind }) =>
      importer.includes("node_modules")
        ? undefined
        : { path: join(resolveDir, path), sideEffects: kind !== "import-statement" },
    );
  },
};

/** How Chronicle is bundled: by the build, and by the tests that run what was bundled. */
export const BUNDLE_OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  // A quarter of the length of the program, and some 15 ms of each start. Names stay, for the stacks of errors.
  minifyWhitespace: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // Native code, the caller's test runner, and what a build can do without.
  external: ["@parcel/watcher", "vitest", "fast-check"],
  plugins: [BUILTINS],
  // ws looks for native helpers otherwise, which are not there.
  define: { "process.env.WS_NO_BUFFER_UTIL": '"1"', "process.env.WS_NO_UTF_8_VALIDATE": '"1"' },
  // Packages whose main file hides what it requires, or requires at run time what a module cannot.
  alias: {
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    yaml: join(root, "node_modules/yaml/browser/index.js"),
  },
};

/**
 * The hook is one file, of the older kind of module: a process that lives for a tenth of a second has no time to look for
 * sixty files. `import.meta.url` is what the file itself says it is.
 */
export const HOOK_OPTIONS = {
  ...BUNDLE_OPTIONS,
  plugins: [BUILTINS, ONLY_WHAT_IS_USED],
  splitting: false,
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  // Nearly a third of its length, and of the time to load it.
  minify: true,
  define: { "import.meta.url": "moduleUrl" },
  banner: { js: '"use strict";\nconst moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  // Unless it is loaded into an image.
  footer: { js: "if (require.main === module) module.exports.startHook();" },
};

/** The beginning of every command: like the hook, one small file, with the program behind it only where it is needed. */
export const ASK_OPTIONS = { ...HOOK_OPTIONS, footer: {} };

/** What makes an image of the hook. */
export const HOOK_IMAGE_OPTIONS = { ...HOOK_OPTIONS, footer: {} };

/** The client, for browsers as well: one file, in which nothing of Node's is named. */
export const BROWSER_OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2024",
};
