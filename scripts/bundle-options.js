import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Modules of Node that are slow to load, and that many commands and hooks do not need. None of their functions needs
 * the module as `this`.
 */
const DEAR = new Set(["child_process", "crypto", "http", "os", "sqlite", "tty", "worker_threads", "zlib"]);

/**
 * An esbuild plugin that gets Node's own modules from `process.getBuiltinModule` instead of importing them. An import
 * evaluates every export of a module. Some exports load further modules (streams, WebCrypto), which takes 10 ms at each
 * start of a command or a hook. The modules in `DEAR` are loaded only when one of their exports is first used.
 */
const BUILTINS = {
  name: "builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin" } : undefined,
    );
    // CommonJS packages get Node's modules by `require`, with or without the prefix `node:`. The bundle is an ES
    // module, in which `require` does not exist.
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
 * Returns the source of a module that is loaded when one of its properties is first read. `real`: the expression that
 * loads it.
 *
 * The exported object has no properties of its own, so that esbuild's import helper has nothing to copy. The object
 * inherits from `all`, which inherits from a proxy. The first read reaches the proxy, which loads the module and
 * defines all its properties in `all`. Later reads find them there.
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
 * An esbuild plugin that marks our own imported files as free of side effects. Only entries do anything when they are
 * loaded. esbuild then leaves out unused files, together with everything that they import. Without the mark, it would
 * keep the schemas, because these are made by calls, which could have side effects.
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

/** The esbuild options of the program, for the build and for the tests that run a bundle. */
export const BUNDLE_OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  // Without whitespace, the program is a quarter shorter, and each start takes some 15 ms less. Names are kept, for the
  // stacks of errors.
  minifyWhitespace: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // The watcher is native code. `vitest` is the test runner of the caller. `fast-check` is only for tests of this
  // repository.
  external: ["@parcel/watcher", "vitest", "fast-check"],
  plugins: [BUILTINS],
  // Without these variables, `ws` would look for native helpers, which are not installed.
  define: { "process.env.WS_NO_BUFFER_UTIL": '"1"', "process.env.WS_NO_UTF_8_VALIDATE": '"1"' },
  // The main files of these packages cannot be bundled into an ES module: their `require` calls are hidden from
  // esbuild, or are made at run time.
  alias: {
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    yaml: join(root, "node_modules/yaml/browser/index.js"),
  },
};

/**
 * The esbuild options of the hook. The hook is one CommonJS file, because its process lives for only a tenth of a
 * second, and loading sixty files would take too long. CommonJS has no `import.meta.url`; `moduleUrl` in the banner
 * replaces it.
 */
export const HOOK_OPTIONS = {
  ...BUNDLE_OPTIONS,
  plugins: [BUILTINS, ONLY_WHAT_IS_USED],
  splitting: false,
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  // This saves nearly a third of the file's length, and of the time to load it.
  minify: true,
  define: { "import.meta.url": "moduleUrl" },
  banner: { js: '"use strict";\nconst moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  // The hook does not start when the file is loaded into an image (a startup snapshot of Node).
  footer: { js: "if (require.main === module) module.exports.startHook();" },
};

/**
 * The esbuild options of the client with which every command begins. Like the hook, it is one small file. It loads the
 * whole program only if necessary.
 */
export const ASK_OPTIONS = { ...HOOK_OPTIONS, footer: {} };

/** The esbuild options of the program that makes an image of the hook. */
export const HOOK_IMAGE_OPTIONS = { ...HOOK_OPTIONS, footer: {} };

/** The esbuild options of the client library, which also runs in browsers: one file that uses nothing of Node. */
export const BROWSER_OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2024",
};
