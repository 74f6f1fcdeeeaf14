/** The seed of a run, for properties that test many numbered fixtures. Each fixture has its own seed and can be repeated alone. */

/** The number of the first fixture. FIXTURE in the environment starts at a later one. */
export const FIRST_FIXTURE = Number(process.env.FIXTURE ?? 0)

/** SEED of the environment; in a soak the current time; otherwise `usual`. */
export function runSeed(usual: string): string {
  return process.env.SEED ?? (process.env.SOAK === '1' ? String(Date.now()) : usual)
}
