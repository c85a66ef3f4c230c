import { expect, it } from "vitest";
import { isWorkspaceName } from "./workspace-record.ts";

const UUID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

it.each(["main", "17", "session-17", "user@host:1", "_x", "@agent", "3f2a.1", UUID, "x".repeat(128)])(
  "%j can be a workspace's name",
  (name) => expect(isWorkspaceName(name)).toBe(true),
);

it.each(["", ".", "..", "-x", ".x", ":x", "a b", "a/b", "a%2fb", "é", "a\n", "x".repeat(129)])("%j cannot", (name) =>
  expect(isWorkspaceName(name)).toBe(false),
);
