/** Follows the trail of a vault: delivers batch after batch, tries each until it is received, and keeps the cursor after it. */
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError } from '../../public-errors.ts'
import type { AnyVault } from '../config/any-vault.ts'
import type { CursorFile } from './cursor-file.ts'
import type { Form } from './forms/form.ts'
import { reasonOf, type Target, TargetFailure } from './target.ts'

/** One line about the work of a follower. `details` are names, counts and times. */
export type FollowLog = (level: 'info' | 'warn' | 'error', message: string, details?: Readonly<Record<string, unknown>>) => void

/** What is followed, and to where. */
export interface FollowRun {
  readonly vault: Pick<AnyVault, 'followAudit'>
  readonly target: Target
  readonly form: Form
  readonly cursorFile: CursorFile
  /** Ends following: what is on its way is delivered, if the target takes it within `graceMs`. */
  readonly signal: AbortSignal
  readonly log: FollowLog
  /** Default 10,000. */
  readonly graceMs?: number
  readonly pollMs?: number
  /** A number from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number
}

/** What a follower did. */
export interface FollowResult {
  readonly delivered: number
  /** Chains of the trail that were changed in the database. */
  readonly failures: number
}

/** The pause before the second attempt lasts up to 250 ms; the bound doubles before each further one. */
const RETRY = { firstMs: 250, maxMs: 10_000, longestMs: 3_600_000 } as const
const GRACE_MS = 10_000
const STATUS_MS = 60_000
const TEND_MS = 1000

/** Runs until the signal is aborted. Throws what is no failure of the target or the storage: a wrong cursor, a defect. */
export async function runFollow(run: FollowRun): Promise<FollowResult> {
  return new Follow(run).run()
}

class Follow {
  readonly #run: FollowRun
  readonly #stopped = new AbortController()
  #delivered = 0
  #failures = 0
  /** Times that the storage could not be read since the last batch. */
  #outages = 0
  #statusMs = performance.now()
  #isTending = false

  constructor(run: FollowRun) {
    this.#run = run
  }

  async run(): Promise<FollowResult> {
    const { signal, target, graceMs = GRACE_MS, log } = this.#run
    let ending: NodeJS.Timeout | undefined
    const end = () => {
      ending = setTimeout(() => this.#stopped.abort(), graceMs)
    }
    signal.addEventListener('abort', end, { once: true })
    const tending = setInterval(() => void this.#tend(), TEND_MS)
    try {
      while (!signal.aborted) await this.#follow()
    } finally {
      clearTimeout(ending)
      clearInterval(tending)
      signal.removeEventListener('abort', end)
      await target.close?.()
    }
    log('info', 'ended', { delivered: this.#delivered })
    return { delivered: this.#delivered, failures: this.#failures }
  }

  /** Follows until the signal is aborted, or until the storage cannot be read, which is waited for. */
  async #follow(): Promise<void> {
    const { vault, cursorFile, signal, form, target, log, pollMs } = this.#run
    const after = await cursorFile.read()
    const following = { signal, listed: form.needsListed, ...(pollMs === undefined ? {} : { pollMs }) }
    try {
      for await (const batch of vault.followAudit(after === undefined ? following : { ...following, after })) {
        for (const { reason } of batch.failures) log('error', 'the trail was changed in the database', { reason })
        this.#failures += batch.failures.length
        this.#outages = 0
        const [first] = batch.events
        if (first !== undefined) {
          const messages = batch.events.map(form.write)
          const work = () => target.deliver(messages, this.#stopped.signal)
          if (!(await this.#insist({ on: target.name, since: first.timestamp, work }))) return
          const keep = () => cursorFile.write(batch.cursor)
          if (!(await this.#insist({ on: 'the file of the cursor', since: first.timestamp, work: keep }))) return
          this.#delivered += batch.events.length
        }
        this.#report(batch.behind, batch.events.at(-1)?.timestamp)
      }
    } catch (error) {
      if (!isVaultError(error, 'unavailable') && !isVaultError(error, 'aborted')) throw error
      log('warn', 'the storage cannot be read', { code: error.code })
      await this.#wait(this.#outages++)
    }
  }

  /** Tries until it is done. Returns false if following ended before. */
  async #insist({ on, since, work }: { on: string; since: string; work: () => Promise<void> }): Promise<boolean> {
    const { log, signal } = this.#run
    for (let failed = 0; ; failed++) {
      try {
        await work()
        if (failed > 0) log('info', 'delivers again', { target: on, attempts: failed + 1 })
        return true
      } catch (error) {
        const reason = reasonOf(error)
        if (reason === undefined) throw error
        log('warn', 'cannot deliver, and tries again', { target: on, reason, attempts: failed + 1, lagSeconds: lagOf(since) })
        if (!signal.aborted) await this.#wait(failed, error instanceof TargetFailure ? error.retryAfterMs : undefined)
        if (signal.aborted) return false
      }
    }
  }

  /** Waits before the next attempt, longer after each, and as long as the target asks. */
  async #wait(failed: number, askedMs = 0): Promise<void> {
    const { random = Math.random, signal } = this.#run
    const bound = Math.min(RETRY.maxMs, RETRY.firstMs * 2 ** Math.min(failed, 20))
    const milliseconds = Math.min(Math.max((bound / 2) * (1 + random()), askedMs), RETRY.longestMs)
    await pause(milliseconds, undefined, { signal }).catch(() => {})
  }

  async #tend(): Promise<void> {
    const { target, log } = this.#run
    if (this.#isTending) return
    this.#isTending = true
    try {
      await target.tend?.()
    } catch (error) {
      log('warn', 'cannot look after the target', { target: target.name, reason: reasonOf(error) ?? 'an error' })
    }
    this.#isTending = false
  }

  #report(behind: number, timestamp: string | undefined): void {
    if (performance.now() - this.#statusMs < STATUS_MS) return
    this.#statusMs = performance.now()
    this.#run.log('info', 'following', { delivered: this.#delivered, behind, lagSeconds: behind === 0 ? 0 : lagOf(timestamp) })
  }
}

/** Whole seconds since an event. */
function lagOf(timestamp: string | undefined): number {
  return timestamp === undefined ? 0 : Math.max(0, Math.round((Date.now() - Date.parse(timestamp)) / 1000))
}
