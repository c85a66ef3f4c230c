import type { Duplex } from "node:stream";
import { makeProblem } from "./problem.ts";

/** The time that a refused client has for closing the connection, in milliseconds. */
const LEAVE_MS = 1_000;

/**
 * Refuses an upgrade in the protocol of the request, without a body. No HTTP limit covers the connection any more, so
 * one that its client does not close is cut off.
 */
export function endUpgrade(socket: Duplex, status: number): void {
  const { title } = makeProblem(status, "", "");
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once("close", () => clearTimeout(timer));
  // Discards further input: unread, it would hide the end of the connection.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
