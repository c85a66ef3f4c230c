import * as z from "zod";
import { parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { count, hash, pathFields, anyPathFromFields, pathToFields } from "./fields.ts";
import { MAX_CHILDREN, MAX_FOLDERS } from "./limits.ts";

/** A full reconciliation: folders by their Merkle hashes, so that only differing ones are compared. */

/** A name in a folder, as text or in Base64. */
const childName = z.string().min(1).max(2048);

/** Fields that contain a name. */
interface NameFields {
  readonly name?: string | undefined;
  readonly name_b64?: string | undefined;
}

/** Converts a name in a folder to fields of a message. */
export function nameToFields(name: string): NameFields {
  const { filepath, filepath_b64 } = pathToFields(name as WorkspacePath);
  return filepath_b64 === undefined ? { name: filepath ?? "" } : { name_b64: filepath_b64 };
}

/**
 * Returns the name in a message. Accepts names that are absolute on Windows, since a folder's hash depends on them.
 * Throws `PATH_INVALID`.
 */
export function nameFromFields({ name, name_b64 }: NameFields): string {
  if (name_b64 !== undefined) return anyPathFromFields({ filepath: name, filepath_b64: name_b64 });
  return parsePath(name ?? "");
}

const folder = z.strictObject({
  ...pathFields,
  /** Only children after this name are wanted: for a folder with more children than fit into a message. */
  after: childName.optional(),
  after_b64: childName.optional(),
  /**
   * The folder's Merkle hash at the replica. If it is the same at the origin, and nothing in the folder was touched,
   * the folder is not listed.
   */
  hash: hash.optional(),
});

/** Checks that the path is valid; `""` is the root. */
function isFolder(fields: z.output<typeof folder>): boolean {
  anyPathFromFields(fields);
  return fields.after === undefined || fields.after_b64 === undefined;
}

export const treeRequest = z.strictObject({
  type: z.literal("TreeRequest"),
  /** The event whose state is asked for: the one that `FullResyncRequired` has named. */
  sequence: count,
  /** The last event that the replica holds. Later deletions are listed, and folders touched later are marked. */
  since: count,
  folders: z.array(folder.refine(isFolder)).min(1).max(MAX_FOLDERS),
});

const child = z
  .strictObject({
    name: childName.optional(),
    name_b64: childName.optional(),
    /** `absent`: it was deleted after `since`. */
    kind: z.enum(["file", "symlink", "dir", "absent"]),
    permissions: z.int().min(0).max(0o7777),
    size: count,
    mtime_ms: z.int(),
    /** The hash of the content or the link's target, or the folder's Merkle hash; null if it is absent. */
    hash: hash.nullable(),
    /** The event that recorded this state, and its iteration. */
    sequence: z.int().min(1),
    iteration: z.int().min(1),
    /** True if something in this folder, or in what was one, has an event after `since`. */
    touched: z.boolean().optional(),
    /** Set if the file was recorded as a secret, by its name. */
    class: z.literal("protected").optional(),
  })
  .refine(({ kind, hash: of }) => (kind === "absent") === (of === null), "has a hash exactly where it is there")
  .refine((fields) => {
    const name = nameFromFields(fields);
    return name !== "" && !name.includes("/");
  }, "is no name");

const listing = z
  .strictObject({
    ...pathFields,
    /** The folder's Merkle hash; null if there is no such folder at that event. */
    hash: hash.nullable(),
    /** True if something in it has an event after `since`. */
    touched: z.boolean(),
    /** Sorted by bytes. */
    children: z.array(child).max(MAX_CHILDREN),
    /** True if there are further children after the last of these. */
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
