/**
 * The error that a command throws in the store's long-lived process if it needs the client's process: the command would
 * have to ask a question, or the workspace of the command is not open. The client then carries out the command itself.
 * The command must throw this error before it changes anything.
 */
export class NeedsClient extends Error {}
