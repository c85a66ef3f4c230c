/**
 * Limits on the messages of a peer. A length or count in a frame is checked before memory is allocated for it. Both
 * sides must have the same limits, so a changed limit needs a new version of the protocol. docs/protocol.md lists the
 * limits.
 */

export const PROTOCOL_VERSION = 2;

const KIB = 1024;
const MIB = 1024 * KIB;

/** The maximum length of one frame with its header, in bytes. */
export const MAX_FRAME_BYTES = 4 * MIB;

/** The maximum length of the head (JSON) of one frame, in bytes. */
export const MAX_HEAD_BYTES = MIB;

/** The maximum nesting depth of the objects and lists in one head. */
export const MAX_JSON_DEPTH = 64;

/** The maximum number of commas and colons outside of strings in one head. This limits the number of keys and items. */
export const MAX_JSON_PARTS = 100_000;

/** The size, in bytes, below which a content is sent inline (in the message of its event or entry). */
export const INLINE_BELOW_BYTES = 4 * KIB;

/** The maximum length of one piece of a content, in bytes. */
export const MAX_PIECE_BYTES = 2 * MIB;

/** The maximum length of the lines in one `Events`, in bytes. */
export const MAX_LINES_BYTES = 2 * MIB;

/**
 * The maximum length of a line in one `Notification`, in characters. A longer line is sent in `Events`, in parts if
 * necessary.
 */
export const MAX_NOTIFIED_LINE = 128 * KIB;

/** The maximum number of entries in one `WriteBack`, and in each of the two lists of one `WriteBackResult`. */
export const MAX_ENTRIES = 500;

/** The maximum number of chunks in one `chunk_manifest`, which lists the chunks of a large content. */
export const MAX_CHUNKS = 8_000;

/** The maximum length of one chunk, in bytes. A chunk is fetched in pieces. */
export const MAX_CHUNK_BYTES = 64 * MIB;

/** The maximum number of folders in one `TreeRequest`, and in one `TreeResponse`. */
export const MAX_FOLDERS = 256;

/** The maximum number of children of all folders in one `TreeResponse`. */
export const MAX_CHILDREN = 4_000;

/**
 * The maximum total length, in bytes, of the record rows that answer `ErasuresRequest`. This is also the maximum length
 * of a line of the log.
 */
export const MAX_ERASURES_BYTES = 64 * MIB;

/** The maximum number of contents in one `BlocksRequest`. */
export const MAX_ASKED = 10_000;
/** The maximum number of contents in each of the lists `absent` and `apart` of one `BlocksResponse`. */
export const MAX_NOT_IN_BLOCKS = 4_000;
/** The maximum number of contents that a replica has requested in blocks and not received yet. */
export const MAX_PENDING = 4 * MAX_ASKED;

/** The maximum length of the blocks in one `BlocksResponse`, in bytes. A longer block cannot be sent. */
export const MAX_BLOCKS_BYTES = 3.5 * MIB;

/**
 * The number of bytes of credited frames that each side may send before its first `Credit` arrives. A frame is credited
 * if its message needs credit.
 */
export const INITIAL_CREDIT_BYTES = MIB;
