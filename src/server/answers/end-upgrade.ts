import type { Duplex } from "node:stream";
import { makeProblem } from "./problem.ts";

/** Whoever is told has so long to hang up, in milliseconds. */
const LEAVE_MS = 1_000;

/**
 * Refuses an upgrade in the protocol that it was asked in, without a body. No limit of HTTP holds for the connection any
 * more, so one that its client does not close is cut off.
 */
export function endUpgrade(socket: Duplex, status: number): void {
  const { title } = makeProblem(status, "", "");
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once("close", () => clearTimeout(timer));
  // What still comes is read over: unread, it would keep the end from being noticed.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
