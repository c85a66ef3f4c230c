import { expect, it } from "vitest";
import { folderAbove, givenPath, readName, readPath } from "./given-path.ts";

const encoded = (...bytes: readonly number[]): string => Buffer.from(bytes).toString("base64");

it.each([
  ["a name that is UTF-8", { path: "a/é.txt" }, "a/é.txt", "a/é.txt"],
  ["a name that begins like a mark", { path: "./@a:b", path_b64: encoded(0x40, 0x61, 0x3a, 0x62) }, "./@a:b", "./@a:b"],
  ["a name that is not UTF-8", { path: "a/\\xff", path_b64: encoded(0x61, 0x2f, 0xff) }, "base64:YS//", "a/\\xff"],
  [
    ...(["a name in another root", { path: "@two:é\\xfe", path_b64: encoded(0xc3, 0xa9, 0xfe) }] as const),
    ...(["@two:base64:w6n+", "@two:é\\xfe"] as const),
  ],
  ["a name that looks encoded", { path: "./base64:YQ==" }, "./base64:YQ==", "./base64:YQ=="],
])("%s is asked for exactly, and is read", (_name, told, given, shown) => {
  expect(givenPath(told)).toBe(given);
  expect(readPath(given)).toBe(shown);
});

it.each([
  ["a/b/c.txt", "a/b", "c.txt"],
  ["c.txt", "", "c.txt"],
  [`base64:${encoded(0x61, 0x2f, 0xff)}`, "a", "\\xff"],
  [`@two:base64:${encoded(0x61, 0xfe, 0x2f, 0xff)}`, `@two:base64:${encoded(0x61, 0xfe)}`, "\\xff"],
  [`base64:${encoded(0xff)}`, "", "\\xff"],
  ["@two:c.txt", "@two:", "c.txt"],
  ["@two:b/c.txt", "@two:b", "c.txt"],
  ["@two:", "", ""],
])("%j is in %j, and is called %j", (given, folder, name) => {
  expect(folderAbove(given)).toBe(folder);
  expect(readName(given)).toBe(name);
});
