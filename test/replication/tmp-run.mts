import { SyncSimulation } from "./sync-simulation.ts";
const from=Number(process.argv[2]), n=Number(process.argv[3]);
process.on("unhandledRejection",(e)=>console.log("UNHANDLED",String(e).slice(0,200)));
for (let s=from;s<from+n;s++){ const t=Date.now(); const c=process.cpuUsage(); const sim=new SyncSimulation(s); let r="ok"; try{ await sim.run(); }catch(e){ r="FAIL "+(e as Error).message.slice(0,300);} const u=process.cpuUsage(c); console.log(s,r,Date.now()-t,"ms cpu",Math.round((u.user+u.system)/1000),"vclock",Math.round(sim.clock.now)); }
process.exit();
