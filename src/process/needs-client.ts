/**
 * Thrown in the store's long-lived process by a command that needs its client's process, because the command would ask
 * a question or its workspace is not open. The client then carries out the command itself. The command must throw this
 * error before it changes anything.
 */
export class NeedsClient extends Error {}
