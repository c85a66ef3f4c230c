/**
 * Thrown in the store's long-lived process by a command that needs the process of its caller: it would ask a question, or
 * its workspace is not open. The caller then does the command itself. Must be thrown before the command changes anything.
 */
export class NeedsClient extends Error {}
