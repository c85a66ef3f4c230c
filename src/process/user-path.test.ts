import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { UserPaths } from "./user-path.ts";

let place: string;

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-user-path-")));
  mkdirSync(join(place, "real/ws"), { recursive: true });
  symlinkSync("real", join(place, "link"));
});

afterEach(() => rmSync(place, { recursive: true }));

function pathsOf(folder: string): UserPaths {
  return new UserPaths({ path: folder, status: async () => ({ roots: [] }) }, place);
}

test.each([
  ["a file that does not exist", "link/ws/a.txt", "a.txt"],
  ["a file in a deleted folder", "link/ws/gone/a.txt", "gone/a.txt"],
  ["a file in a deleted folder of a deleted folder", "link/ws/gone/too/a.txt", "gone/too/a.txt"],
])("a link above the workspace leads to %s", async (_, typed, inner) => {
  const paths = pathsOf(join(place, "real/ws"));
  expect(await paths.toWorkspace(join(place, typed))).toBe(inner);
});

test("a missing path beside the workspace is refused", async () => {
  const paths = pathsOf(join(place, "real/ws"));
  await expect(paths.toWorkspace(join(place, "link/other/a.txt"))).rejects.toThrow("outside of the workspace");
});

test("a path whose links cannot be resolved is not taken for a missing one", async () => {
  symlinkSync("loop", join(place, "loop"));
  const paths = pathsOf(join(place, "real/ws"));
  await expect(paths.toWorkspace(join(place, "loop/a.txt"))).rejects.toThrow("ELOOP");
});

test.each([
  ["from the root", "real/ws"],
  ["from a folder below the root", "real/ws/sub"],
  ["from a folder outside", "."],
])("a path that begins with :/ is relative to the root, %s", async (_, from) => {
  mkdirSync(join(place, "real/ws/sub"));
  const owner = { path: join(place, "real/ws"), status: async () => ({ roots: [] }) };
  const paths = new UserPaths(owner, join(place, from));
  expect(await paths.toWorkspace(":/sub/a.txt")).toBe("sub/a.txt");
  expect(await paths.toWorkspace(":/")).toBe("");
});

test("a file whose own path begins with :/ is shown so that it can be typed", async () => {
  const root = join(place, "real/ws");
  const paths = new UserPaths({ path: root, status: async () => ({ roots: [] }) }, root);
  expect(paths.shown(":/a")).toBe("./:/a");
  expect(await paths.toWorkspace("./:/a")).toBe(":/a");
});

test.each([
  [":/sub/../f", "f"],
  [":/sub/f/", "sub/f"],
  [":/./@two:f", "./@two:f"],
  [":/@two:f", "./@two:f"],
  [":/base64:bv8=", "base64:bv8="],
])("%s names the path %s", async (typed, path) => {
  expect(await pathsOf(join(place, "real/ws")).toWorkspace(typed)).toBe(path);
});

test("a path from the root that leads out of the workspace is refused", async () => {
  await expect(pathsOf(join(place, "real/ws")).toWorkspace(":/../x")).rejects.toMatchObject({ code: "USAGE" });
});

test("a path that begins with :/ is shown with ./ in a subfolder, too", () => {
  mkdirSync(join(place, "real/ws/sub"), { recursive: true });
  const owner = { path: join(place, "real/ws"), status: async () => ({ roots: [] }) };
  expect(new UserPaths(owner, join(place, "real/ws/sub")).shown("sub/:/q")).toBe("./:/q");
});
