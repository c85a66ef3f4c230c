import { expect, it } from "vitest";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import { conflictWords, type ConflictWords, type Present } from "./conflict-words.ts";

const FILE: Present = { hash: "a", kind: "file", size: 5, permissions: 0o644 };
const NONE: Present = { hash: null, kind: null, size: 0, permissions: 0 };
const FOLDER: Present = { hash: null, kind: "dir", size: 0, permissions: 0o755 };
const LINK: Present = { hash: "l", kind: "symlink", size: 3, permissions: 0o777 };

const CONFLICT: ConflictShape = {
  ...{ id: "c", path: "a", timestamp: "2026-01-05T10:00:00Z", state: "open", reason: "content", undo_id: "u" },
  ...{ current_hash: "a", undo_hash: "b", current_size: 5, undo_size: 7, current_kind: "file", undo_kind: "file" },
  ...{ current_permissions: 0o644, undo_permissions: 0o644 },
};

const CASES: Readonly<Record<string, readonly [Partial<ConflictShape>, Present, ConflictWords]>> = {
  "two files": [{}, FILE, { keep: "Keep the current state", take: "Take the undo's state", isRemoval: false }],
  "two files of a sync": [
    { cause: "sync" },
    FILE,
    { keep: "Keep the current state", take: "Take the origin's state", isRemoval: false },
  ],
  "two links": [
    { undo_kind: "symlink" },
    LINK,
    { keep: "Keep the current state", take: "Take the undo's state", isRemoval: false },
  ],
  "a deleted file": [
    {},
    NONE,
    {
      what: "Nothing is there now. In the undo's state, it is a file of 7 B.",
      ...{ keep: "Leave it deleted", take: "Bring it back", isRemoval: false },
    },
  ],
  "a file that the undo removes": [
    { undo_kind: null, undo_hash: "", undo_size: 0 },
    FILE,
    {
      what: "Now it is a file of 5 B. In the undo's state, nothing is there.",
      ...{ keep: "Keep it", take: "Remove it", isRemoval: true },
    },
  ],
  "a folder and a file": [
    {},
    FOLDER,
    {
      what: "Now it is a folder. In the undo's state, it is a file of 7 B.",
      ...{ keep: "Keep the folder", take: "Take the file", isRemoval: false },
    },
  ],
  "permissions alone": [
    { undo_hash: "a", undo_permissions: 0o755 },
    FILE,
    {
      what: "Only the permissions differ: 644 now, 755 in the undo's state.",
      ...{ keep: "Keep 644", take: "Take 755", isRemoval: false },
    },
  ],
  "permissions and contents": [
    { undo_permissions: 0o4 },
    FILE,
    {
      what: "The permissions differ, too: 644 now, 004 in the undo's state.",
      ...{ keep: "Keep the current state", take: "Take the undo's state", isRemoval: false },
    },
  ],
  "nothing on both sides": [
    { undo_kind: null },
    NONE,
    { what: "Nothing is there on both sides.", keep: "Settle it", take: "Take the undo's state", isRemoval: false },
  ],
};

it.each(Object.entries(CASES))("the words for a conflict of %s", (_name, [conflict, present, words]) => {
  expect(conflictWords({ ...CONFLICT, ...conflict }, present)).toEqual(words);
});
