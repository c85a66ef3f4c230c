import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const repo = dirname(dirname(import.meta.dirname));

/** The files that are loaded with a file: the file, its imports, and their imports. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imports = text.matchAll(/^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)"/gm);
  for (const [, path = ""] of imports) loadedWith(resolve(dirname(file), path), seen);
  return seen;
}

it("the start of the command line loads no store, server, client or MCP", () => {
  const files = ["main.ts", "start.ts"].flatMap((name) => [...loadedWith(join(repo, "src", "cli", name))]);
  const loaded = files.map((file) => relative(repo, file));
  expect(loaded).toContain("src/cli/support/context.ts");
  const heavy =
    /^src\/(open\.ts|client|server|mcp|hooks|compose|workspace|storage|worktree|cli\/commands|cli\/hooking)/;
  expect(loaded.filter((path) => heavy.test(path))).toEqual([]);
  expect(loaded.filter((path) => path.startsWith("src/cli/remote/"))).toEqual(["src/cli/remote/remote-address.ts"]);
});

it("opening a store does not load the YAML reader statically", () => {
  const loaded = loadedWith(join(repo, "src", "open.ts"));
  const readers = [...loaded].filter((path) => /from "yaml"/.test(readFileSync(path, "utf8")));
  expect(readers.map((path) => relative(repo, path))).toEqual([]);
});
