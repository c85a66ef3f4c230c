import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ServedStore } from "../helpers/served-store.ts";
import { type RunHow, Sandbox } from "./sandbox.ts";

type Step = readonly string[] | { readonly words: readonly string[]; readonly how: RunHow };

/** All commands that a server can carry out, in an order in which each of them has something to do. */
const COMMANDS: readonly Step[] = [
  ["workspaces"],
  ["workspaces", "create", "w"],
  ["-w", "nobody", "status"],
  ["-w", "w", "status"],
  ...[
    { words: ["put", "README.md"], how: { input: "# one\n" } },
    { words: ["put", "src/main.ts", "-"], how: { input: "let a = 1;\nlet b = 2;\nlet c = 3;\n" } },
    { words: ["put", "src/main.ts", "--if-match", "none"], how: { input: "x" } },
    { words: ["put", "/bin/run.sh", "--mode", "755"], how: { input: "#!/bin/sh\n" } },
    { words: ["put", "bin/run.sh", "--mode", "999"], how: {} },
    ["put", "x", "missing-file"],
    ["put", "../x"],
    ["files"],
    ["files", "src", "--depth", "1"],
    ["files", "README.md"],
    ["files", "nowhere"],
    ["snapshot", "-m", "first", "--name", "first", "--pin"],
    { words: ["put", "src/main.ts"], how: { input: "let a = 1;\nlet b = 20;\nlet c = 3;\n" } },
    ["mv", "README.md", "docs/README.md"],
    ["mv", "README.md", "elsewhere"],
    ["mv", "bin/run.sh", "src/main.ts"],
    ["rm", "bin"],
    ["rm", "-r", "bin"],
    ["rm", "bin/run.sh"],
    ["undo", "--dry-run"],
    ["undo"],
    ["redo"],
    ["undo"],
    ["redo", "--force"],
    [],
    ["list", "--limit", "3"],
    ["list", "--snapshots"],
    ["log"],
    ["log", "--from", "2", "--limit", "3"],
    ["log", "--reverse", "--prefix", "file:"],
    ["manifest", "first"],
    ["manifest", "nonsense"],
    ["files", "--at", "first"],
    ["diff", "first", "latest", "-p"],
    ["diff", "first", "now", "--stat"],
    ["diff", "first", "--", "src"],
    ["diff", "README.md"],
    ["history", "src/main.ts"],
    ["history", "/src/main.ts"],
    ["history", "mian.ts"],
    ["history", "-p", "src/main.ts"],
    ["blame", "src/main.ts"],
    ["blame", "-L", "1,2", "--at", "first", "src/main.ts"],
    ["blame", "src"],
    ["log", "-S", "let b", "src"],
    ["log", "-S", "nowhere"],
    ["log", "src"],
    ["grep", "let b", "src"],
    ["grep", "--history", "-i", "LET"],
    ["grep", "-l", "-F", "--at", "first", "let"],
    ["grep", "("],
    ["grep", "let", "nosuch"],
    ["cat", "src/main.ts"],
    ["cat", "src/main.ts@1"],
    ["cat", "src/main.ts@9"],
    ["cat", "bin/run.sh"],
    ["cat", "src/mian.ts"],
    ["cat", "src"],
    ["explain", "src/main.ts", "dist/app.js", "../outside"],
    ["explain", "src/main.ts", ".git/config"],
    ["restore", "first", "--dry-run"],
    ["restore", "first", "src"],
    ["restore", "99"],
    ["restore", "first", "--to", "../all", "--dry-run"],
    ["restore", "first", "--to", "../all"],
    ["restore", "first", "--to", "../all"],
    ["restore", "first", "src/main.ts", "--to", "../part"],
    ["restore", "first", "src/mian.ts", "--to", "../none"],
    ["undo"],
    ["transaction", "begin", "--name", "t"],
    { words: ["put", "in-t.txt"], how: { input: "t\n" } },
    ["transaction", "list"],
    ["transaction", "rollback"],
    ["transaction", "commit"],
    ["transaction", "begin"],
    ["transaction", "commit"],
    ["sessions"],
    ["turns"],
    ["rewind", "last", "--dry-run"],
    ["show"],
    ["actions"],
    ["actions", "abc"],
    ["rollback", "abc"],
    ["changes"],
    ["changes", "--since", "first"],
    ["changes", "--file", "src", "-p"],
    ["undo", "--file", "src/main.ts", "--dry-run"],
    { words: ["put", "src/main.ts"], how: { input: "let a = 1;\nlet b = 30;\nlet c = 3;\n" } },
    ["undo", "--since", "first", "src/main.ts:2", "--dry-run"],
    ["undo", "src/main.ts:99"],
    ["undo", "--since", "first", "--file", "src"],
    ["conflicts"],
    ["conflicts", "-p", "--all"],
    ["resolve", "src/main.ts"],
    ["resolve", "src/main.ts", "--keep-current"],
    ["status"],
    ["record", "put", "FACT-1", '{"text":"blue"}'],
    { words: ["record", "put", "FACT-2", "-"], how: { input: '{"n":1}' } },
    ["record", "get", "FACT-1"],
    ["record", "get", "FACT-9"],
    ["record", "delete", "FACT-2"],
    ["record", "list"],
    ["record", "replay"],
    ["record", "export"],
    ["record", "verify"],
    ["config"],
    ["config", "maxBytes", "1GiB"],
    ["config", "maxBites"],
    ["config", "excludePatterns", "build", "dist"],
    ["config", "excludePatterns", "--clear"],
    ["pin", "first"],
    ["unpin", "first"],
    ["unpin", "77"],
    ["prune", "--dry-run"],
    ["prune", "--keep-last", "1"],
    ["prune", "--keep-last", "3", "--yes"],
    ["du", "--by", "path"],
    ["verify"],
    ["verify", "--quick"],
    ["verify", "--expect", "missing.txt"],
    ["rebuild"],
    ["compact"],
    ["compact", "--drop-archive"],
    ["compact", "--drop-archive", "--yes"],
    ["record", "compact"],
    ["list"],
    ["snapshot"],
    ["status"],
  ].map((step): Step => {
    const { words, how } = "words" in step ? step : { words: step, how: {} };
    return { words: ["-w", "w", ...words], how };
  }),
  ["workspaces", "create", "v", "--from", "w"],
  ["workspaces", "create", "u", "--from", "w@latest"],
  ["workspaces", "create", "u"],
  ["workspaces", "create", "a b"],
  ["workspaces", "archive", "v"],
  ["-w", "v", "snapshot"],
  ["-w", "v", "cat", "src/main.ts"],
  ["workspaces", "unarchive", "v"],
  ["workspaces", "archive", "nobody"],
  ["workspaces", "burn"],
  ["forget", "v"],
  ["forget", "v", "--yes"],
  ["forget", "u", "--yes"],
  ["forget", "nobody", "--yes"],
  ["gc"],
  ["du"],
  ["workspaces"],
];

async function transcript(box: Sandbox, env: Readonly<Record<string, string>>): Promise<string> {
  for (const step of COMMANDS) {
    const { words, how } = "words" in step ? step : { words: step, how: {} };
    await box.step(words, { ...how, env });
  }
  return box.transcript
    .replace(/(?<=rolled back |committed )[0-9a-f]{8}/g, "<id>")
    .replace(/\b[0-9a-f]{8}(?= {2}human {2}| human\b)/g, "<id>")
    .replace(/(?<=signed head at seq )\d+/g, "<seq>")
    .replace(/(?<=freed )[\d.]+ [KMG]?i?B/g, "<size>")
    .replace(/^(contents|logs|indexes|other|total) +[\d.]+ [KMG]?i?B/gm, "$1 <size>")
    .replace(/(?<=forgotten histories |caches |unused room in packs )[\d.]+ [KMG]?i?B/g, "<size>")
    .replace(/(?<=blobs? of )[\d.]+ [KMG]?i?B/g, "<size>");
}

/** The names, modes and contents of the files in a folder. */
function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const stat = lstatSync(join(folder, name));
      const mode = (stat.mode & 0o777).toString(8);
      return [name, mode, ...(stat.isFile() ? [readFileSync(join(folder, name), "utf8")] : [])].join(" ");
    });
}

it("every command has the same output with a server as with the store itself", async () => {
  using here = new Sandbox();
  using there = new Sandbox();
  await using server = await ServedStore.start();
  const local = await transcript(here, {});
  const remote = await transcript(there, { CHRONICLE_REMOTE: server.socketUrl });
  for (const name of ["all", "part"]) expect(tree(join(there.folder, name))).toEqual(tree(join(here.folder, name)));
  expect(tree(join(here.folder, "part"))).toEqual(["src 755", "src/main.ts 644 let a = 1;\nlet b = 2;\nlet c = 3;\n"]);
  expect(remote.replaceAll(server.base, "/box").replaceAll("unix:/box/store/run/serve.sock", "/box/store")).toBe(local);
});

/** Commands that only read. With and without a server, they must give the same document for the same store. */
const LOOKS: readonly (readonly string[])[] = [
  ["status"],
  ["list"],
  ["list", "--snapshots"],
  ["log"],
  ["log", "--reverse", "--limit", "3"],
  ["manifest", "baseline"],
  ["manifest", "now"],
  ["files"],
  ["files", "dir", "--depth", "1"],
  ["diff", "baseline", "now", "-p"],
  ["history", "dir/a.txt"],
  ["history", "-p", "dir/a.txt"],
  ["blame", "dir/a.txt"],
  ["log", "-S", "two"],
  ["grep", "t.o"],
  ["grep", "--history", "two", "dir"],
  ["cat", "dir/a.txt@1"],
  ["cat", "bytes.bin"],
  ["explain", "dir/a.txt", "dist/x"],
  ["actions"],
  ["sessions"],
  ["turns"],
  ["transaction", "list"],
  ["changes", "--since", "baseline"],
  ["conflicts", "--all"],
  ["record", "list"],
  ["record", "replay"],
  ["config"],
  ["undo", "--dry-run"],
  ["restore", "baseline", "--dry-run"],
  ["prune", "--dry-run"],
  ["record", "verify"],
  ["workspaces"],
  ["nonsense"],
  ["cat", "nowhere.txt"],
];

it("every reading command has the same JSON output with a server as with the store itself", async () => {
  using box = new Sandbox();
  const configFolder = join(box.folder, "config", "chronicle");
  await using server = await ServedStore.start({ places: { home: box.store, configFolder } });
  const { workspace } = await server.client().store.create({ name: "w" });
  await workspace.putFile("dir/a.txt", Buffer.from("one\n"));
  await workspace.putFile("dir/a.txt", Buffer.from("two\n"));
  await workspace.putFile("bytes.bin", Buffer.from([0, 255, 1]));
  await workspace.snapshot({ name: "here" });
  const transaction = await workspace.beginTransaction({ name: "t" });
  await workspace.putFile("more.txt", Buffer.from("more\n"));
  await workspace.commitTransaction(transaction.id);
  await workspace.records.upsert("FACT-1", { text: "blue" });
  for (const words of LOOKS) {
    const local = await box.json(["-w", "w", ...words]);
    const remote = await box.json(["--remote", server.socketUrl, "-w", "w", ...words]);
    expect({ words, ...remote }).toEqual({ words, ...local });
  }
});
