/**
 * Limits on what a peer may send. Every number is checked before anything is allocated for it. docs/protocol.md lists
 * them, and a change of one is a new version of the protocol.
 */

/** The protocol version of this implementation. */
export const PROTOCOL_VERSION = 2;

const KIB = 1024;
const MIB = 1024 * KIB;

/** One frame with its header, in bytes. */
export const MAX_FRAME_BYTES = 4 * MIB;

/** The JSON of one frame, in bytes. */
export const MAX_HEAD_BYTES = MIB;

/** Maximum nesting of objects and lists. */
export const MAX_JSON_DEPTH = 64;

/** Commas and colons outside of strings: bounds the number of keys and items in a head. */
export const MAX_JSON_PARTS = 100_000;

/** Contents below this are sent inline, in bytes (seed 003: "under 4KB"). */
export const INLINE_BELOW_BYTES = 4 * KIB;

/** One piece of a content, in bytes. */
export const MAX_PIECE_BYTES = 2 * MIB;

/** The bytes of lines in one `Events`. */
export const MAX_LINES_BYTES = 2 * MIB;

/**
 * Longest line, in characters, that is sent in its notification; a longer one goes in `Events`, in parts if necessary.
 */
export const MAX_NOTIFIED_LINE = 128 * KIB;

/** Entries of one `WriteBack`, and answers to them. */
export const MAX_ENTRIES = 500;

/** Chunks of one manifest. */
export const MAX_CHUNKS = 8_000;

/** Largest chunk, in bytes. It is fetched in pieces. */
export const MAX_CHUNK_BYTES = 64 * MIB;

/** Folders of one `TreeRequest`. */
export const MAX_FOLDERS = 256;

/** Children of all folders in one `TreeResponse`. */
export const MAX_CHILDREN = 4_000;

/** The erasures of one state, as rows, in bytes: the same as the longest line. */
export const MAX_ERASURES_BYTES = 64 * MIB;

/** Contents of one `BlocksRequest`; those of an `absent` or `apart` in one `BlocksResponse`. */
export const MAX_ASKED = 10_000;
export const MAX_NOT_IN_BLOCKS = 4_000;
/** Contents that a replica has asked for in blocks and not received yet. */
export const MAX_PENDING = 4 * MAX_ASKED;

/** The blocks of one `BlocksResponse`, in bytes, even if it is a single block. */
export const MAX_BLOCKS_BYTES = 3.5 * MIB;

/** Bytes that either side may send before it has received any credit. */
export const INITIAL_CREDIT_BYTES = MIB;
