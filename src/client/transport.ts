/** Sends requests to one vault, and again where that is safe. */

import { VaultError } from '../core/errors.ts'
import type { Signal } from '../index.ts'
import type { BearerSource } from './bearer-source.ts'
import { cancelled, errorOf, lost, TOO_MANY } from './wire-errors.ts'

/** What a transport needs. */
export interface TransportOptions {
  /** Where the operations of the vault are, without a slash at the end. */
  readonly base: string
  readonly bearers: BearerSource
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds that one attempt may take. */
  readonly timeoutMs: number
  /** Times that a request is sent again. */
  readonly retries: number
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>
}

/** What fetch sends. */
export type Body = NonNullable<RequestInit['body']>

/** A request to one operation. */
export interface Outgoing<T> {
  /** Path below the vault, with a query or not. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body, at each attempt. */
  readonly body?: (() => Body) | undefined
  /** True if the body can be read once only: such a request is not sent again. */
  readonly isOnce?: boolean
  /** True for a change without a key: it is not sent again after its answer was lost. */
  readonly isWork?: boolean
  /** The idempotency key of a write; undefined for a read. */
  readonly key: string | undefined
  /** True if a write that was `aborted` would be so again. */
  readonly isConditional?: boolean
  readonly signal: Signal | undefined
  /** Reads the response of a success, within the time of the attempt. */
  read(response: Response): Promise<T>
}

/** Sends a request, and returns what it reads of the response. Throws the error of the vault, or `unavailable`, `outcome_unknown` and `cancelled`. */
export type Send = <T>(outgoing: Outgoing<T>) => Promise<T>

/** Why an attempt failed. */
interface Failure {
  readonly error: unknown
  /** `no`: not to be sent again. `renew`: with another bearer. */
  readonly again: 'no' | 'yes' | 'renew'
  /** Milliseconds that the server asks to wait. */
  readonly waitMs?: number
}

/** The result of an attempt. */
type Attempt<T> = { readonly value: T } | Failure

/** The longest time that a timer takes, in milliseconds: a longer one ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Milliseconds before the second attempt, half of it more or less; each wait is twice the one before. */
const FIRST_WAIT_MS = 100
/** The longest wait, also if a server asks for more, in milliseconds. */
const MAX_WAIT_MS = 30_000

/** Returns the function that sends requests. */
export function createTransport({ base, bearers, fetch, timeoutMs, retries, headers: common }: TransportOptions): Send {
  return async (outgoing) => {
    let refused: Promise<string> | undefined
    for (let attempts = 0; ; ) {
      const bearer = bearers.current(refused)
      const done = await attempt(outgoing, `Bearer ${headerText('A credential', await bearer)}`)
      if ('value' in done) return done.value
      const isRenewing = done.again === 'renew' && refused === undefined && bearers.isRenewable
      const isOver = done.again === 'yes' ? outgoing.isWork === true || attempts >= retries : !isRenewing
      if (isOver || outgoing.isOnce === true) throw done.error
      if (isRenewing) refused = bearer
      else await pause(Math.max(done.waitMs ?? 0, waitAfter(attempts++)), outgoing.signal)
    }
  }

  async function attempt<T>(outgoing: Outgoing<T>, authorization: string): Promise<Attempt<T>> {
    const { path, method, headers, body, key, signal, read } = outgoing
    if (isAborted(signal)) return { error: cancelled(), again: 'no' }
    const controller = new AbortController()
    const abort = (): void => controller.abort()
    const timer = setTimeout(abort, Math.min(timeoutMs, MAX_TIMER_MS))
    signal?.addEventListener?.('abort', abort)
    try {
      const response = await fetch(`${base}/${path}`, {
        method,
        headers: { ...common, ...headers, authorization, ...(key === undefined ? {} : { 'idempotency-key': key }) },
        // A redirect would send a write elsewhere, or as a GET.
        redirect: 'manual',
        signal: controller.signal,
        ...(body === undefined ? {} : { body: body(), duplex: 'half' }),
      } as RequestInit)
      return response.ok ? { value: await read(response) } : await failureOf(outgoing, response)
    } catch (error) {
      if (isAborted(signal)) return { error: cancelled(), again: 'no' }
      // What the request itself is wrong about.
      if (VaultError.isGenuine(error)) return { error, again: 'no' }
      const why = controller.signal.aborted ? 'The vault did not answer in time.' : 'The connection failed.'
      return { error: lost(isWrite(outgoing), why, error), again: 'yes' }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener?.('abort', abort)
    }
  }
}

/** Returns a text without the space around it. Throws for one that no header can have: the error of fetch would quote it, and look like a lost answer. */
export function headerText(name: string, given: unknown): string {
  const text = String(given).trim()
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new VaultError('invalid_request', `Request failed. ${name} must be visible ASCII characters.`)
}

function isWrite({ key, isWork = false }: Pick<Outgoing<unknown>, 'key' | 'isWork'>): boolean {
  return isWork || key !== undefined
}

/** It can have changed since it was read last, which the compiler does not know. */
function isAborted(signal: Signal | undefined): boolean {
  return signal?.aborted === true
}

/** Returns why a request was refused, and whether it can be sent again. */
async function failureOf(
  { key, isConditional }: Pick<Outgoing<unknown>, 'key' | 'isConditional'>,
  response: Response,
): Promise<Failure> {
  const { status } = response
  const { error, isOfVault } = await errorOf(response)
  const asked = Number(response.headers.get('retry-after') ?? -1) * 1000
  const wait = asked >= 0 ? { waitMs: Math.min(asked, MAX_WAIT_MS) } : {}
  if (isOfVault) {
    // A status of 401 alone can also be a missing grant.
    if (error.code === 'unauthenticated') return { error, again: 'renew' }
    // Nothing is stored after the first two. The third is in doubt, and its key decides.
    const isSafe =
      error.code === 'aborted' ? isConditional !== true : error.code === 'unavailable' || error.code === 'outcome_unknown'
    return { error, again: isSafe ? 'yes' : 'no', ...wait }
  }
  if (status === TOO_MANY) return { error, again: 'yes', ...wait }
  if (error.code !== 'unavailable') return { error, again: 'no' }
  // A gateway can answer 502 or 504 after the vault has stored the write.
  return { error: key === undefined ? error : lost(true, error.message.replace('Request failed. ', '')), again: 'yes', ...wait }
}

/** Returns the milliseconds to wait after so many attempts. */
function waitAfter(attempts: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempts, MAX_WAIT_MS) * (0.5 + Math.random())
}

/** Waits, or throws `cancelled` at an abort. */
function pause(milliseconds: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener?.('abort', end)
      if (signal?.aborted === true) reject(cancelled())
      else resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener?.('abort', end)
  })
}
