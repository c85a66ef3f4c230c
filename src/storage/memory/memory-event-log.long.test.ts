import { eventLogSuite } from "../../testing/event-log-suite.ts";
import { emptyMemoryLog, MemoryEventLog } from "./memory-event-log.ts";

eventLogSuite("MemoryEventLog", () => {
  const state = emptyMemoryLog();
  return {
    open: () => new MemoryEventLog(state),
    tear: (bytes) => (state.torn = bytes),
    quarantined: (name) => state.quarantined.get(name) ?? Buffer.alloc(0),
  };
});
