import { lockSuite } from "../../testing/lock-suite.ts";
import { memoryLocks } from "./memory-lock.ts";

lockSuite("MemoryLock", () => {
  const make = memoryLocks();
  return () => make("/store/lock.db");
});
