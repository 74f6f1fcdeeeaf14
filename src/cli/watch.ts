/** The options of long work: Ctrl-C ends it between two steps, and the same command goes on. */
import type { CommandRun } from './command.ts'

/** Returns them, for work that counts such things. */
export function watch({ options, output, signal }: CommandRun, noun: string) {
  const pace = options.integer('pace', { min: 1 })
  return { signal, onProgress: output.progress(noun), ...(pace !== undefined && { pace }) }
}
