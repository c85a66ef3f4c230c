import * as z from "zod";
import { count, hash, pathFields, pathFromFields } from "./fields.ts";
import { MAX_CHILDREN, MAX_FOLDERS } from "./limits.ts";

/** A full reconciliation: folders by their Merkle hashes, so that only what differs is looked at. */

/** A name in a folder, as text or in Base64. */
const childName = z.string().min(1).max(2048);

const folder = z.strictObject({
  ...pathFields,
  /** Only children after this name, for a folder with more of them than go into a message. */
  after: childName.optional(),
  after_b64: childName.optional(),
});

/** A refinement: the path is one; `""` is the root. */
function isFolder(fields: z.output<typeof folder>): boolean {
  pathFromFields(fields);
  return fields.after === undefined || fields.after_b64 === undefined;
}

export const treeRequest = z.strictObject({
  type: z.literal("TreeRequest"),
  /** The origin's state right after this event. */
  sequence: count,
  folders: z.array(folder.refine(isFolder)).min(1).max(MAX_FOLDERS),
});

const child = z
  .strictObject({
    name: childName.optional(),
    name_b64: childName.optional(),
    kind: z.enum(["file", "symlink", "dir"]),
    permissions: z.int().min(0).max(0o7777),
    size: count,
    mtime_ms: count,
    /** Of the content, of the link's target, or the folder's Merkle hash. */
    hash,
  })
  .refine(({ name, name_b64 }) => {
    const path = pathFromFields(
      name === undefined ? { filepath_b64: name_b64 } : { filepath: name, filepath_b64: name_b64 },
    );
    return path !== "" && !path.includes("/");
  }, "is no name");

const listing = z
  .strictObject({
    ...pathFields,
    /** The folder's Merkle hash; null: there is no such folder at that event. */
    hash: hash.nullable(),
    /** In their order, by bytes. */
    children: z.array(child).max(MAX_CHILDREN),
    /** There are further ones, after the last of these. */
    more: z.boolean(),
  })
  .refine((fields) => pathFromFields(fields) !== undefined);

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
