import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { ServedStore } from "../helpers/served-store.ts";

const repo = join(import.meta.dirname, "../..");
const script: string = join(repo, "scripts/bundle-options.js");
const { BROWSER_OPTIONS } = (await import(script)) as { BROWSER_OPTIONS: object };

/** The globals of a web page that the client uses. */
const WEB = [
  ...["AbortController", "AbortSignal", "Blob", "ReadableStream", "Response", "TextDecoder", "TextEncoder", "URL"],
  ...["atob", "btoa", "clearTimeout", "crypto", "fetch", "setTimeout", "structuredClone"],
];

const PROGRAM = `(async () => {
  const { createClient } = chronicle;
  const client = createClient({ url, token });
  const { workspace } = await client.store.create({ name: "page" });
  async function* pieces() { yield new TextEncoder().encode("in "); yield new TextEncoder().encode("pieces"); }
  await workspace.putFile("a.txt", pieces());
  await workspace.putFile("a.txt", new TextEncoder().encode("whole"));
  const first = await client.fileAtIteration("page", "a.txt", 1);
  const files = await client.listFiles("page");
  const { size } = await client.readFile("page", "a.txt");
  const code = await client.readFile("page", "../a.txt").catch((error) => error.code);
  return JSON.stringify([await first.text(), files.map(({ path }) => path), size, code]);
})()`;

it("the client runs without globals of Node, and its bundle is smaller than 54 kB", async () => {
  const { metafile, outputFiles } = await build({
    ...BROWSER_OPTIONS,
    entryPoints: ["src/client/index.ts"],
    format: "iife",
    globalName: "chronicle",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.filter((path) => path.includes("node_modules/zod") || path.includes("routes/rows/"))).toEqual([]);
  const [output] = outputFiles;
  expect(output?.contents.length).toBeLessThan(54_000);

  await using server = await ServedStore.start();
  const globals = Object.fromEntries(WEB.map((name) => [name, (globalThis as Record<string, unknown>)[name]]));
  // `document` marks a page. The client collects bodies before sending them there.
  const context = createContext({ ...globals, document: {}, url: server.url, token: server.token });
  runInContext(output?.text ?? "", context);
  const told = JSON.parse(await (runInContext(PROGRAM, context) as Promise<string>)) as unknown;
  expect(told).toEqual(["in pieces", ["a.txt"], 5, "PATH_INVALID"]);
});

it("the client compiles without the types of Node", () => {
  const base = mkdtempSync(join(tmpdir(), "chronicle-page-"));
  const lib = ["es2024", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"];
  const options = { extends: join(repo, "tsconfig.json"), compilerOptions: { types: [], lib }, include: [] };
  writeFileSync(
    join(base, "tsconfig.json"),
    JSON.stringify({ ...options, files: [join(repo, "src/client/index.ts")] }),
  );
  const checked = spawnSync(join(repo, "node_modules/.bin/tsc"), ["-p", base], { encoding: "utf8" });
  rmSync(base, { recursive: true, force: true });
  expect([checked.stdout, checked.status]).toEqual(["", 0]);
});
