/** The line of a long work on standard error: what was done, the rate, and the time left. */
import type { TextStream } from './text-stream.ts'

/** How far a work has come. */
export interface Progressed {
  readonly done: number
  readonly total?: number | undefined
  /** What the work waits for. */
  readonly waitsFor?: string | undefined
}

/** Shows the progress of one work. */
export interface ProgressLine {
  update(progress: Progressed): void
  /** Ends the line, if there is one. */
  end(): void
}

/** Work that ends sooner prints nothing. */
const QUIET_MS = 1000
/** A file that standard error goes to gets a line less often than a terminal. */
const LOG_EVERY_MS = 10_000
const DRAW_EVERY_MS = 200

/** Makes the line. `noun`: what is counted, in the plural. */
export function createProgressLine(stream: TextStream, noun: string): ProgressLine {
  const startMs = performance.now()
  const isTerminal = stream.isTTY === true
  let firstDone: number | undefined
  let drawnMs = startMs + QUIET_MS - (isTerminal ? DRAW_EVERY_MS : LOG_EVERY_MS)
  let isDrawn = false
  return {
    update({ done, total, waitsFor }) {
      const nowMs = performance.now()
      // Work that goes on where it was interrupted begins above zero, which is no rate.
      firstDone ??= done
      if (waitsFor === undefined && nowMs - drawnMs < (isTerminal ? DRAW_EVERY_MS : LOG_EVERY_MS)) return
      drawnMs = nowMs
      const text = describeProgress(noun, { done, total, rate: ((done - firstDone) * 1000) / (nowMs - startMs), waitsFor })
      stream.write(isTerminal ? `\r${text}\u001b[K` : `${text}\n`)
      isDrawn = isTerminal
    },
    end() {
      if (isDrawn) stream.write('\n')
      isDrawn = false
    },
  }
}

/** Returns `12,000 of 50,000 rows, 4,000/s, 10 s left`. */
function describeProgress(noun: string, { done, total, rate, waitsFor }: Progressed & { readonly rate: number }): string {
  const count = (value: number) => Math.round(value).toLocaleString('en-US')
  const counted = total === undefined ? `${count(done)} ${noun}` : `${count(done)} of ${count(total)} ${noun}`
  if (waitsFor !== undefined) return `${counted}, waits for ${waitsFor}`
  const parts = [counted, `${count(rate)}/s`]
  if (total !== undefined && rate > 0 && total > done) parts.push(`${timeOf((total - done) / rate)} left`)
  return parts.join(', ')
}

function timeOf(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}
