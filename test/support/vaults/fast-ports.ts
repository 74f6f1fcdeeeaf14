/** Ports of a process whose time runs a hundred times as fast: a look at the catalog is due after 100 ms, and work that waits until others have looked waits for 150. */
import { SYSTEM_PORTS } from './system-ports.ts'

export const FAST_PORTS = {
  ...SYSTEM_PORTS,
  stopwatch: { now: () => SYSTEM_PORTS.stopwatch.now() * 100 },
  timer: {
    after: (milliseconds: number, callback: () => void, keepsAlive?: boolean) =>
      SYSTEM_PORTS.timer.after(milliseconds / 100, callback, keepsAlive),
  },
}
