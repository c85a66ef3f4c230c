import { indexStoreSuite } from "../../testing/index-store-suite.ts";
import { MemoryIndexStore } from "./memory-index-store.ts";

indexStoreSuite("MemoryIndexStore", () => new MemoryIndexStore());
