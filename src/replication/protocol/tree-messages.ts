import * as z from "zod";
import { parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { count, restOfTime, hash, pathFields, anyPathFromFields, pathToFields } from "./message-fields.ts";
import { MAX_CHILDREN, MAX_FOLDERS } from "./limits.ts";

/** A name in a folder, as text or in Base64. */
const childName = z.string().min(1).max(2048);

interface NameFields {
  readonly name?: string | undefined;
  readonly name_b64?: string | undefined;
}

export function nameToFields(name: string): NameFields {
  const { filepath, filepath_b64 } = pathToFields(name as WorkspacePath);
  return filepath_b64 === undefined ? { name: filepath ?? "" } : { name_b64: filepath_b64 };
}

/**
 * Returns the name of a child. Accepts names that are absolute paths on Windows, because the Merkle hash of a folder
 * covers the names of all its children. Throws `PATH_INVALID` for an invalid name.
 */
export function nameFromFields({ name, name_b64 }: NameFields): string {
  if (name_b64 !== undefined) return anyPathFromFields({ filepath: name, filepath_b64: name_b64 });
  return parsePath(name ?? "");
}

const folder = z.strictObject({
  ...pathFields,
  /** The last child that an earlier message has listed. Only the children after this name are requested. */
  after: childName.optional(),
  after_b64: childName.optional(),
  /**
   * The folder's Merkle hash at the replica. If the origin has the same hash, and nothing in the folder has an event
   * after `since`, the answer lists no children.
   */
  hash: hash.optional(),
});

/**
 * True unless both `after` and `after_b64` are set. Throws `PATH_INVALID` for an invalid path. The path `""` (the root)
 * is valid.
 */
function isFolder(fields: z.output<typeof folder>): boolean {
  anyPathFromFields(fields);
  return fields.after === undefined || fields.after_b64 === undefined;
}

/**
 * Requests folders of the origin's state after event `sequence`. After the answer, the replica requests the subfolders
 * whose Merkle hashes differ from its own, or in which something has an event after `since`.
 */
export const treeRequest = z.strictObject({
  type: z.literal("TreeRequest"),
  /** The event `current_sequence` of `FullResyncRequired`. The state after this event is requested. */
  sequence: count,
  /**
   * The last event that the replica holds. Deletions after this event are listed. Folders in which something has an
   * event after this event are marked as `touched`.
   */
  since: count,
  folders: z.array(folder.refine(isFolder)).min(1).max(MAX_FOLDERS),
});

const child = z
  .strictObject({
    name: childName.optional(),
    name_b64: childName.optional(),
    /** `absent` means that the path was deleted after `since`. */
    kind: z.enum(["file", "symlink", "dir", "absent"]),
    permissions: z.int().min(0).max(0o7777),
    size: count,
    mtime_ms: z.int(),
    mtime_ns: restOfTime.optional(),
    /** The hash of the content or the link's target, or the folder's Merkle hash; null for `absent`. */
    hash: hash.nullable(),
    /** The event that recorded this state. */
    sequence: z.int().min(1),
    iteration: z.int().min(1),
    /**
     * True if something in the folder has an event after `since`. Set only for a folder, or a path that was a folder.
     */
    touched: z.boolean().optional(),
    class: z.literal("protected").optional(),
  })
  .refine(({ kind, hash: of }) => (kind === "absent") === (of === null), "must have a hash unless it is absent")
  .refine((fields) => {
    const name = nameFromFields(fields);
    return name !== "" && !name.includes("/");
  }, "is not a name");

const listing = z
  .strictObject({
    ...pathFields,
    /** Null if the state has no such folder. */
    hash: hash.nullable(),
    /** True if something in the folder has an event after `since`. */
    touched: z.boolean(),
    /** Sorted by the bytes of their names. */
    children: z.array(child).max(MAX_CHILDREN),
    /** True if the folder has further children after the last one in `children`. */
    more: z.boolean(),
  })
  .refine((fields) => anyPathFromFields(fields) !== undefined);

export const treeResponse = z
  .strictObject({
    type: z.literal("TreeResponse"),
    sequence: count,
    folders: z.array(listing).min(1).max(MAX_FOLDERS),
  })
  .refine(
    ({ folders }) => folders.reduce((sum, { children }) => sum + children.length, 0) <= MAX_CHILDREN,
    `has more than ${MAX_CHILDREN} children`,
  );
