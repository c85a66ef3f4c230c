import { expect, it } from "vitest";
import { isWorkspaceName } from "./workspace-name.ts";

it.each([
  "main",
  "g",
  "session-17",
  "user@host:1",
  "_x",
  "@agent",
  "3f2a.1",
  "3F2A",
  "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
  "x".repeat(128),
])("%j can be a workspace's name", (name) => expect(isWorkspaceName(name)).toBe(true));

it.each(["", ".", "..", "-x", ".x", ":x", "a b", "a/b", "é", "a\n", "3f2a", "f81d4fae-7dec-11d0", "x".repeat(129)])(
  "%j cannot",
  (name) => expect(isWorkspaceName(name)).toBe(false),
);
