/** Events as requests to an HTTP server: a batch each, as lines or as a JSON array. */
import { CommandFailure, EXIT } from '../../failure.ts'
import { type Message, reasonOf, type Target, TargetFailure } from '../target.ts'

export interface HttpTargetOptions {
  readonly url: URL
  /** Media type of lines. */
  readonly mediaType: string
  /** `array`: one JSON array. Default: a message a line. */
  readonly body?: 'lines' | 'array'
  /** Read for each request, so that secrets can change. */
  headers?(): Promise<Readonly<Record<string, string>>>
  /** Milliseconds that a request may take. Default 30,000. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
const TOO_LARGE = 413

export function httpTarget({ url, mediaType, body = 'lines', headers, timeoutMs = TIMEOUT_MS }: HttpTargetOptions): Target {
  const type = body === 'array' ? 'application/json' : mediaType
  const bodyOf = (texts: readonly string[]) =>
    body === 'array' ? `[${texts.join(',')}]` : texts.map((text) => `${text}\n`).join('')

  async function send(messages: readonly Message[], signal: AbortSignal): Promise<void> {
    const response = await fetch(url, {
      method: 'POST',
      // Headers have secrets, which are for this address alone.
      redirect: 'manual',
      headers: { ...(await headers?.()), 'content-type': type },
      body: bodyOf(messages.map(({ text }) => text)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    }).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'TimeoutError')
        throw new TargetFailure(`no response within ${timeoutMs / 1000} s`)
      if (signal.aborted) throw new TargetFailure('the follower ends')
      // Fetch refuses these before it connects, so that no later attempt can succeed.
      if (error instanceof TypeError && reasonOf(error) === undefined)
        throw new CommandFailure(
          EXIT.usage,
          `No request can be made to ${url.origin}: a header has characters that HTTP does not allow, or the port is one that fetch blocks.`,
          { cause: error },
        )
      throw error
    })
    // The connection is free again when the response is read to its end, or given up.
    await response.body?.cancel().catch(() => {})
    if (response.ok) return
    const [half] = response.status === TOO_LARGE && messages.length > 1 ? [Math.ceil(messages.length / 2)] : []
    if (half === undefined) throw new TargetFailure(`status ${response.status}`, retryAfter(response.headers.get('retry-after')))
    await send(messages.slice(0, half), signal)
    await send(messages.slice(half), signal)
  }

  return { name: `${url.origin}${url.pathname}`, deliver: send }
}

/** Returns the milliseconds of a Retry-After, which is a number of seconds or a date. Source: RFC 9110, section 10.2.3. */
export function retryAfter(value: string | null, now = Date.now()): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
