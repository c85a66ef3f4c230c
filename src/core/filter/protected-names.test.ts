import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { parsePath } from "../values/path.ts";
import { isNamePattern, PROTECTED_NAMES, ProtectedNames } from "./protected-names.ts";

const holds = (path: string, added: readonly string[] = []): boolean =>
  new ProtectedNames(added).holds(parsePath(path));

describe("names of secrets", () => {
  it.each([
    ...[".env", "a/.env", ".env.local", ".ENV", "id_rsa", "a/b/server.pem", "TLS.KEY", "credentials", ".npmrc"],
    ...["#.env#", "#key.pem#", "._.env", ".id_rsa.swp", "..env.swp", ".server.key.swo", "id_rsa.~1~", "id_rsa.tmp"],
    ...["id_rsa (copy)", "id_rsa (2)", "id_rsa copy", ".git-credentials.lock", "id_rsa.bak~", "server.key.old.bak"],
    ...[".#id_rsa", ".~lock.credentials#", "#id_rsa~#", "server.key.bak.old~"],
    ...[".env~", "id_rsa.bak", "server.key.orig", "id_rsa.conflict-01arz3nd", "id_rsa.conflict-01arz3nd-2"],
  ])("%s is one", (path) => {
    expect(holds(path)).toBe(true);
  });

  it.each([
    ...[
      "env",
      "a.env.txt",
      ".env.example",
      ".env.sample",
      "sub/.env.template",
      "id_rsa.pub",
      "keys.ts",
      "pem",
      ".env/x",
    ],
    ...[
      "x.bak",
      "~",
      "#x#",
      ".x.swp",
      "._x",
      "x (copy)",
      "##",
      ".swp",
      "._",
      "notes (copy).md",
      ".lock",
      "id_rsa.pub~",
    ],
  ])("%s is none", (path) => {
    expect(holds(path)).toBe(false);
  });

  test("a person's patterns take precedence over the table, and the last one that matches decides", () => {
    expect(holds("secrets.json", ["secrets.*"])).toBe(true);
    expect(holds("secrets.md", ["secrets.*", "!*.md"])).toBe(false);
    expect(holds(".env", ["!.env"])).toBe(false);
    expect(new ProtectedNames(["a"]).added(parsePath(".env"))).toBeUndefined();
  });

  test.each([
    ["a*", "ax", "bx"],
    ["*a", "xa", "xb"],
    ["?", "x", "xy"],
    ["[ab]*[cd]", "b.c", "b.e"],
    ["?-secret*", "a-secret.c", "a-public.c"],
    ["x", "x", "y"],
    ["*", "anything", ""],
  ])("a pattern of any form counts: %s", (pattern, secret, other) => {
    const names = new ProtectedNames(["zz-head*", "*.zz-tail", pattern]);
    expect(names.holds(parsePath(`sub/${secret}`))).toBe(true);
    if (other !== "") expect(names.holds(parsePath(`sub/${other}`))).toBe(false);
  });

  test("a pattern must be a valid glob for one name", () => {
    expect(["a", "!a", "*.x", "a b"].every(isNamePattern)).toBe(true);
    expect(["", "!", "a/b", "a\0", "[a"].some(isNamePattern)).toBe(false);
  });

  test("docs/format.md has the table", () => {
    const page = readFileSync("docs/format.md", "utf8").split("### Classes of content")[1] ?? "";
    const listed = page.split("\n").filter((line) => line.startsWith("    "));
    const words = listed.flatMap((line) => line.trim().split(/\s+/));
    expect(words.slice(0, PROTECTED_NAMES.length)).toEqual(PROTECTED_NAMES);
  });
});
