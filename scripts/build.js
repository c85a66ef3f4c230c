// Bundles Chronicle into dist/, emits its types, and builds its page. This script is plain JavaScript for Node 20 and later, because
// `npm ci` runs it.
//
// All entries and shared chunks are directly in dist/. So `new URL("./x-worker.js", import.meta.url)` names the same
// file in every chunk.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ASK_OPTIONS, BROWSER_OPTIONS, BUNDLE_OPTIONS, HOOK_IMAGE_OPTIONS, HOOK_OPTIONS } from "./bundle-options.js";
import { compressAssets } from "./compress-page.js";
import { libraryEntry } from "./library-entry.js";
import { removeUnreached } from "./reached-types.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/**
 * The entries: name in dist/, without `.js` → source. `findEntries` adds the workers. `dist/index.js` is not an entry,
 * because `writeIndex` writes it.
 */
const NAMED_ENTRIES = {
  cli: "src/cli/main.ts",
  library: "src/index.ts",
  testing: "src/testing/index.ts",
  "client-node": "src/client/node.ts",
};

/** Returns the entries that exist, in esbuild's format: name → source. Prints the names of missing entries. */
function findEntries() {
  const entries = {};
  for (const [name, source] of Object.entries(NAMED_ENTRIES)) {
    if (existsSync(join(root, source))) entries[name] = source;
    else console.log(`skipped dist/${name}.js: there is no ${source}`);
  }
  for (const file of readdirSync(join(root, "src"), { recursive: true })) {
    if (file.endsWith("-worker.ts")) entries[basename(file, ".ts")] = join("src", file);
  }
  return entries;
}

/**
 * Bundles the entries, and the programs that are one file each. Removes the files of earlier builds afterwards, and not
 * before, because dist/ may be in use.
 */
async function bundle(entries) {
  const result = await build({
    ...BUNDLE_OPTIONS,
    entryPoints: entries,
    outdir: dist,
    chunkNames: "chunk-[hash]",
    metafile: true,
    logLevel: "warning",
  });
  const alone = [await bundleAlone("hook", "src/cli/hook-main.ts", HOOK_OPTIONS)];
  alone.push(await bundleAlone("hook-image", "src/cli/hook-image-main.ts", HOOK_IMAGE_OPTIONS));
  alone.push(await bundleAlone("ask", "src/cli/resident/ask-main.ts", ASK_OPTIONS));
  alone.push(await bundleAlone("client", "src/client/index.ts", BROWSER_OPTIONS));
  const inputs = Object.assign({}, ...alone.map((one) => one.inputs));
  const aloneOutputs = Object.assign({}, ...alone.map((one) => one.outputs));
  const outputs = { ...result.metafile.outputs, ...aloneOutputs };
  const written = new Set(Object.keys(outputs).map((path) => relative("dist", path)));
  written.add(writeNotices([...new Set([...Object.keys(result.metafile.inputs), ...Object.keys(inputs)])]));
  const library = result.metafile.outputs["dist/library.js"];
  if (library !== undefined) written.add(writeIndex(library.exports));
  for (const file of readdirSync(dist, { withFileTypes: true })) {
    if (file.isFile() && !written.has(file.name)) rmSync(join(dist, file.name));
  }
  for (const path of [...Object.keys(entries).map((name) => `dist/${name}.js`), ...Object.keys(aloneOutputs)]) {
    console.log(`built   ${path} (${Math.ceil(outputs[path].bytes / 1024)} KiB)`);
  }
}

/**
 * Bundles one entry into a single file. Returns esbuild's metafile, which lists the inputs and outputs. The lists are
 * empty if the source does not exist.
 */
async function bundleAlone(name, source, options) {
  if (!existsSync(join(root, source))) {
    console.log(`skipped dist/${name}: there is no ${source}`);
    return { inputs: {}, outputs: {} };
  }
  const entry = { entryPoints: { [name]: source }, outdir: dist, metafile: true, logLevel: "warning" };
  return (await build({ ...options, ...entry })).metafile;
}

/**
 * Writes dist/index.js, the entry of the library. In an older Node, it says which Node is needed. Returns the file's
 * name in dist/.
 */
function writeIndex(names) {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(dist, "index.js"), libraryEntry("./library.js", names, Number(/\d+/.exec(engines.node)[0])));
  return "index.js";
}

/** Writes the licenses of all bundled packages into one file in dist/. Returns the file's name. */
function writeNotices(inputs) {
  const folders = inputs
    .map((path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter((one) => one !== undefined);
  const notices = [...new Set(folders)]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? "" : readFileSync(join(root, folder, file), "utf8");
      return `${name} ${version} (${license})\n\n${text.trim()}\n`;
    });
  writeFileSync(join(dist, "third-party.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
  return "third-party.txt";
}

/** Emits the types of the package's entries. Returns false if there are errors, which the compiler prints to stdout. */
function emitTypes(entries) {
  if (!("library" in entries) && !("testing" in entries)) {
    console.log("skipped dist/types: no library entry");
    return true;
  }
  rmSync(join(dist, "types"), { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
  if (run.status !== 0) return false;
  removeUnreached(root);
  console.log("built   dist/types");
  return true;
}

/** Builds the page (`ui/`), and compresses its files. Returns false if there are errors, which Vite prints. */
function buildPage() {
  const config = join(root, "ui", "vite.config.ts");
  if (!existsSync(config)) {
    console.log("skipped dist/ui: there is no ui/vite.config.ts");
    return true;
  }
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const args = [vite, "build", "--config", config, "--logLevel", "warn"];
  if (spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status !== 0) return false;
  const { files, bytes } = compressAssets(join(dist, "ui", "assets"));
  console.log(`built   dist/ui (${files} files, ${Math.ceil(bytes / 1024)} KiB compressed)`);
  return true;
}

/**
 * Bundles the entries, emits the types and builds the page. Returns the failure in words; `undefined` if there is none. The details of a
 * failure have then been printed.
 */
async function run(entries) {
  if (Object.keys(entries).length > 0) {
    try {
      await bundle(entries);
    } catch (error) {
      if (!Array.isArray(error.errors)) throw error;
      return "the bundle has errors";
    }
  }
  if (!emitTypes(entries)) return "the types have errors";
  return buildPage() ? undefined : "the page has errors";
}

const started = performance.now();
const entries = findEntries();
const failure = await run(entries);
console.log(
  `${failure === undefined ? "done" : `failed: ${failure}`} in ${Math.round(performance.now() - started)} ms`,
);
process.exitCode = failure === undefined ? 0 : 1;
