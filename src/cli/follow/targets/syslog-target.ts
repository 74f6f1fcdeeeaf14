/** Events as syslog messages (RFC 5424): over TCP with octet counting (RFC 6587), over TLS (RFC 5425), over UDP (RFC 5426). */
import { createSocket } from 'node:dgram'
import net from 'node:net'
import { hostname } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import tls from 'node:tls'
import { type Message, type Target, TargetFailure } from '../target.ts'

export interface SyslogTargetOptions {
  readonly host: string
  readonly port: number
  readonly transport: 'tcp' | 'tls' | 'udp'
  /** Certificates of TLS in PEM format: of authorities in place of the system's, and the client's own with its key. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** Milliseconds that a receiver may take for a batch. Default 10,000. */
  readonly timeoutMs?: number
  /** Says that a message was cut. */
  onCut?(): void
}

const TIMEOUT_MS = 10_000
/** Facility: log audit. */
const FACILITY = 13
const SEVERITY = { error: 3, warning: 4, informational: 6 } as const
/** Bytes of a message that a datagram holds everywhere. */
const MAX_DATAGRAM = 65_000
/** A receiver that closes a connection before it has read everything is heard of within this time, in milliseconds, and two round trips. */
const HEARD_MS = 20

export function syslogTarget(options: SyslogTargetOptions): Target {
  const { host, port, transport } = options
  const send = transport === 'udp' ? sendDatagrams : sendFrames
  return {
    name: `syslog over ${transport.toUpperCase()} at ${host}:${port}`,
    deliver: (messages, signal) => send(messages.map(syslogMessage), options, signal),
  }
}

/** Returns a message as RFC 5424 has it, without structured data. The text is not marked as UTF-8 by a byte order mark, which JSON does not allow. */
export function syslogMessage({ text, timestamp, action, code }: Message): Buffer {
  const severity = code < 400 ? SEVERITY.informational : code < 500 ? SEVERITY.warning : SEVERITY.error
  // Six decimals at most.
  const time = `${timestamp.slice(0, 26)}Z`
  const header = `<${FACILITY * 8 + severity}>1 ${time} ${HOST} strongroom ${process.pid} ${action.slice(0, 32)} -`
  return Buffer.from(`${header} ${text}`)
}

const HOST =
  hostname()
    .replaceAll(/[^\x21-\x7e]/g, '')
    .slice(0, 255) || '-'

/**
 * Sends the messages on a connection of their own. Syslog has no acknowledgement, and what a receiver has not read is lost when it ends. So this side
 * ends its half of the connection, and the messages count as received when the receiver has then ended the other half: it has read to the end.
 */
async function sendFrames(messages: readonly Buffer[], options: SyslogTargetOptions, signal: AbortSignal): Promise<void> {
  const { host, port, timeoutMs = TIMEOUT_MS } = options
  const frames = messages.flatMap((message) => [Buffer.from(`${message.length} `), message])
  const started = performance.now()
  const socket =
    options.transport === 'tls'
      ? tls.connect({ host, port, ...(net.isIP(host) === 0 ? { servername: host } : {}), ...options.tls })
      : net.connect({ host, port, allowHalfOpen: true })
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  let hasEnded = false
  const closed = new Promise<void>((resolve, reject) => {
    const giveUp = () => {
      const late = `the receiver did not read everything and end the connection within ${timeoutMs / 1000} s`
      socket.destroy(new TargetFailure(signal.aborted ? 'the follower ends' : late))
    }
    limit.addEventListener('abort', giveUp, { once: true })
    if (limit.aborted) giveUp()
    socket.on('error', reject)
    socket.on('end', () => {
      hasEnded = true
    })
    socket.on('close', () => {
      limit.removeEventListener('abort', giveUp)
      resolve()
    })
  })
  closed.catch(() => {})
  socket.resume()
  try {
    await Promise.race([eventOf(socket, options.transport === 'tls' ? 'secureConnect' : 'connect'), closed])
    const roundTripMs = performance.now() - started
    await Promise.race([new Promise<void>((resolve) => socket.write(Buffer.concat(frames), () => resolve())), closed])
    await Promise.race([pause(HEARD_MS + 2 * roundTripMs), closed])
    if (hasEnded || socket.destroyed) throw new TargetFailure('the receiver ended the connection too early')
    socket.end()
    await closed
    if (!hasEnded) throw new TargetFailure('the receiver ended the connection too early')
  } finally {
    socket.destroy()
  }
}

function eventOf(socket: net.Socket, name: string): Promise<void> {
  return new Promise((resolve) => socket.once(name, () => resolve()))
}

/** Sends a datagram each. Only a host that refuses them is noticed. */
async function sendDatagrams(
  messages: readonly Buffer[],
  { host, port, onCut }: SyslogTargetOptions,
  signal: AbortSignal,
): Promise<void> {
  const socket = createSocket(net.isIPv6(host) ? 'udp6' : 'udp4')
  const failed = new Promise<never>((_, reject) => {
    socket.on('error', reject)
  })
  failed.catch(() => {})
  try {
    const connected = new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    socket.connect(port, host)
    await Promise.race([connected, failed])
    for (const message of messages) {
      if (signal.aborted) throw new TargetFailure('the follower ends')
      if (message.length > MAX_DATAGRAM) onCut?.()
      const sent = new Promise<void>((resolve, reject) => {
        socket.send(message.subarray(0, MAX_DATAGRAM), (error) => (error === null ? resolve() : reject(error)))
      })
      await Promise.race([sent, failed])
    }
    // A refusal comes back after the datagram was sent.
    await Promise.race([pause(HEARD_MS), failed])
  } finally {
    socket.close()
  }
}
