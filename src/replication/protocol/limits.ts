/**
 * Limits on what a peer may send. A length or count in a frame is checked before memory is allocated for it. Both sides
 * must have the same limits, so a changed limit needs a new version of the protocol. docs/protocol.md lists the limits.
 */

export const PROTOCOL_VERSION = 2;

const KIB = 1024;
const MIB = 1024 * KIB;

/** Of one frame with its header. */
export const MAX_FRAME_BYTES = 4 * MIB;

/** Of the head (JSON) of one frame. */
export const MAX_HEAD_BYTES = MIB;

/** Of nested objects and lists. */
export const MAX_JSON_DEPTH = 64;

/** Of commas and colons outside of strings. This bounds the number of keys and items in a head. */
export const MAX_JSON_PARTS = 100_000;

/** Contents of fewer bytes than this are sent inline. */
export const INLINE_BELOW_BYTES = 4 * KIB;

/** Of one piece of a content. */
export const MAX_PIECE_BYTES = 2 * MIB;

/** Of the lines in one `Events`. */
export const MAX_LINES_BYTES = 2 * MIB;

/** Of a line in a notification, in characters. A longer line is sent in `Events`, in parts if necessary. */
export const MAX_NOTIFIED_LINE = 128 * KIB;

/** Of entries in one `WriteBack`, and of accepted and of rejected entries in one `WriteBackResult`. */
export const MAX_ENTRIES = 500;

/** In one manifest. */
export const MAX_CHUNKS = 8_000;

/** A chunk is fetched in pieces. */
export const MAX_CHUNK_BYTES = 64 * MIB;

/** In one `TreeRequest`, and in one `TreeResponse`. */
export const MAX_FOLDERS = 256;

/** Of all folders in one `TreeResponse`. */
export const MAX_CHILDREN = 4_000;

/** Of the erasures of one state, as rows. Equal to the maximum length of a line. */
export const MAX_ERASURES_BYTES = 64 * MIB;

/** Of contents in one `BlocksRequest`. */
export const MAX_ASKED = 10_000;
/** Of contents in each of `absent` and `apart` of one `BlocksResponse`. */
export const MAX_NOT_IN_BLOCKS = 4_000;
/** Of contents that a replica has requested in blocks and not received yet. */
export const MAX_PENDING = 4 * MAX_ASKED;

/** Of the blocks in one `BlocksResponse`. A longer block cannot be sent. */
export const MAX_BLOCKS_BYTES = 3.5 * MIB;

/** Each side may send so many bytes of credited frames before it receives `Credit`. */
export const INITIAL_CREDIT_BYTES = MIB;
