import { describe, expect, test } from "vitest";
import { actionTargets, type ActionTargets, type TargetPayload } from "./action-targets.ts";

const folders = {
  roots: [
    { id: undefined, folder: "/w" },
    { id: "lib", folder: "/w/vendor/lib" },
    { id: "notes", folder: "/n", only: "notes.md" },
  ],
  home: "/home/u",
};

function targets(type: string, payload: TargetPayload): ActionTargets {
  return actionTargets(type, payload, folders);
}

function touched(kind: "paths" | "workspace", paths: string[], outside: string[] = [], deep: string[] = []) {
  return { kind, paths, outside, outsideDeep: deep };
}

const swept = [
  { root: "lib", deep: true },
  { root: undefined, deep: true },
];

describe("what a tool is about to touch", () => {
  test.each(["read_file", "list_directory", "search_files"])("%s touches nothing", (type) => {
    expect(targets(type, { path: "a" })).toEqual({ kind: "none" });
  });

  test.each([
    ["write_file", { path: "a.txt", content: "x" }, touched("paths", ["a.txt"])],
    ["write_file", { path: "/w/dir/a" }, touched("paths", ["dir/a"])],
    ["write_file", { path: "./x/../b" }, touched("paths", ["b"])],
    ["write_file", { path: "../out" }, touched("paths", [], ["/out"])],
    ["write_file", { path: "/w/vendor/lib/x" }, touched("paths", ["\0lib/x"])],
    ["write_file", { path: "vendor/lib" }, touched("workspace", [])],
    ["write_file", { path: "/n/notes.md" }, touched("paths", ["\0notes/notes.md"])],
    ["write_file", { path: "/n/other.md" }, touched("paths", [], ["/n/other.md"])],
    ["write_file", { path: "/n/notes.md/x" }, touched("paths", ["\0notes/notes.md/x"])],
    ["delete_directory", { path: "/n" }, touched("workspace", [], ["/n"], ["/n"])],
    ["delete_directory", { path: "/n/notes.md" }, touched("paths", ["\0notes/notes.md"])],
    ["write_file", { path: "/wide" }, touched("paths", [], ["/wide"])],
    ["write_file", { paths: ["a", "b"] }, touched("paths", ["a", "b"])],
    ["delete_file", { path: "a" }, touched("paths", ["a"])],
    ["move_file", { source: "a", destination: "/etc/b" }, touched("paths", ["a"], ["/etc/b"])],
    ["copy_file", { source: "a", destination: "b" }, touched("paths", ["b"])],
    ["create_directory", { path: "d" }, touched("paths", ["d"])],
    ["delete_directory", { path: "/opt/d" }, touched("paths", [], ["/opt/d"], ["/opt/d"])],
    ["delete_directory", { path: "." }, { ...touched("workspace", []), swept }],
    ["delete_directory", { path: "/" }, { ...touched("workspace", [], ["/"], ["/"]), swept }],
    [
      "run_command",
      { command: "rm *.log; chown -R me ." },
      { ...touched("workspace", []), swept: [{ root: undefined, names: "*.log", deep: false }] },
    ],
    ["move_directory", { path: "d", destination: "e" }, touched("paths", ["d", "e"])],
    ["apply_patch", { path: "a", destination: "/o" }, touched("workspace", ["a"], ["/o"])],
    ["apply_patch", {}, touched("workspace", [])],
    ["run_command", { command: "rm -rf a /tmp/x > log" }, touched("workspace", ["log", "a"], ["/tmp/x"], ["/tmp/x"])],
    ["run_command", { command: "rm a", cwd: "/elsewhere" }, touched("workspace", [], ["/elsewhere/a"])],
    ["run_command", { command: "rm a", cwd: "sub" }, touched("workspace", ["sub/a"])],
    ["run_command", { command: "rm ~/.profile" }, touched("workspace", [], ["/home/u/.profile"])],
    ["run_command", {}, touched("workspace", [])],
  ] as const)("%s %j", (type, payload, expected) => {
    expect(targets(type, payload)).toEqual(expected);
  });

  test.each(["a\0b", "", "x".repeat(70_000), "\ud800"])(
    "a tool for files is refused the path %j, and a command is not",
    (path) => {
      expect(() => targets("write_file", { path })).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
      expect(targets("run_command", { command: `rm '${path}'` }).kind).toBe("workspace");
    },
  );

  test("a payload that lacks a field of its type is refused", () => {
    expect(() => targets("write_file", {})).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => targets("move_file", { source: "a" })).toThrow(/lacks "destination"/);
  });
});
