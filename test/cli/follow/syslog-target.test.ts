/** Events to a syslog receiver, which is parsed strictly, that ends, drops, ignores and refuses connections. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Target } from '../../../src/cli/follow/target.ts'
import { syslogMessage, syslogTarget } from '../../../src/cli/follow/targets/syslog-target.ts'
import { assertDelivered, openFollowWorld, until } from '../../support/cli/follow-world.ts'
import { datagramReceiver, parseSyslog, syslogReceiver } from '../../support/cli/syslog-receiver.ts'

const HOST = '127.0.0.1'

/** A planted fault: a target that takes what the system has taken for received. */
function writingTarget(port: number): Target {
  let socket: net.Socket | undefined
  return {
    name: 'wrong',
    async deliver(messages) {
      if (socket === undefined || socket.destroyed) {
        const opened = net.connect(port, HOST)
        socket = opened.on('error', () => opened.destroy())
      }
      const to = socket
      const frames = messages.map(syslogMessage).flatMap((message) => [Buffer.from(`${message.length} `), message])
      await new Promise<void>((resolve, reject) => {
        to.write(Buffer.concat(frames), (error) => (error ? reject(error) : resolve()))
      })
    },
    async close() {
      socket?.destroy()
    },
  }
}

describe('a follower of a vault delivers by syslog', () => {
  it('over TCP, in frames and messages of the standards', async () => {
    const world = await openFollowWorld()
    const receiver = await syslogReceiver()
    await world.work(1200)
    world.follow(syslogTarget({ host: HOST, port: receiver.port, transport: 'tcp' }))
    await until('all messages', () => receiver.messages.length === 1200)
    expect(receiver.faults).toEqual([])
    expect(receiver.messages[0]).toMatchObject({ facility: 13, severity: 6, app: 'strongroom', id: 'INSERT' })
    await assertDelivered(
      receiver.messages.map(({ text }) => text),
      1200,
    )
  })

  it('while the receiver drops, ignores and refuses connections, and is down', async () => {
    const world = await openFollowWorld()
    const receiver = await syslogReceiver()
    const { port } = receiver
    world.follow(syslogTarget({ host: HOST, port, transport: 'tcp', timeoutMs: 300 }))
    const reasons = () => world.log.map(({ details }) => String(details.reason))
    for (const [behavior, reason] of [
      ['drop', 'ECONNRESET'],
      ['ignore', 'the receiver did not read everything and end the connection within 0.3 s'],
      ['refuse', 'the receiver ended the connection too early'],
    ] as const) {
      receiver.behavior = behavior
      await world.work(20)
      await until(reason, () => reasons().includes(reason) || (behavior !== 'ignore' && reasons().includes('EPIPE')))
      receiver.behavior = 'read'
      const { length } = receiver.messages
      await until('messages', () => receiver.messages.length >= length + 20)
    }
    await receiver.stop()
    await world.work(40)
    await until('a refusal', () => reasons().includes('ECONNREFUSED'))
    const back = await syslogReceiver({ port })
    const texts = () => [...receiver.messages, ...back.messages].map(({ text }) => text)
    await until('the rest', () => new Set(texts()).size === 100)
    await assertDelivered(texts(), 100)
  })

  it('and loses nothing of a receiver that ends before it has read, as a target does that only writes', async () => {
    for (const isWrong of [true, false]) {
      const world = await openFollowWorld()
      const receiver = await syslogReceiver()
      receiver.behavior = 'ignore'
      const { port } = receiver
      await world.work(30)
      const right = syslogTarget({ host: HOST, port, transport: 'tcp', timeoutMs: 300 })
      const following = world.follow(isWrong ? writingTarget(port) : right)
      await until('an attempt', () => existsSync(join(world.folder, 'cursor')) || world.log.length > 0)
      await receiver.stop()
      const back = await syslogReceiver({ port })
      let count = 30
      // The wrong target may take one more for delivered before it learns that the connection has ended.
      await until('an event', async () => {
        await world.work(1)
        count++
        return back.messages.length > 0
      })
      const last = new RegExp(`"sequence":${count}\\b`)
      await until('the last event', () => back.messages.some(({ text }) => last.test(text)))
      await following.stop()
      expect(new Set(back.messages.map(({ text }) => text)).size === count).toBe(!isWrong)
    }
  })

  it('over TLS, to a receiver with the certificate of its authority alone', async () => {
    const world = await openFollowWorld()
    const file = (name: string) => join(world.folder, name)
    const subject = ['-days', '2', '-subj', '/CN=logs', '-addext', 'subjectAltName=IP:127.0.0.1', '-nodes']
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-keyout', file('key'), '-out', file('cert')]
    execFileSync('openssl', ['req', '-x509', ...key, ...subject], { stdio: 'pipe' })
    const ca = readFileSync(file('cert'), 'utf8')
    const receiver = await syslogReceiver({ security: { cert: ca, key: readFileSync(file('key')) } })
    await world.work(30)
    const wrong = world.follow(syslogTarget({ host: HOST, port: receiver.port, transport: 'tls' }))
    await until('a refusal', () => world.log.length > 0)
    expect(world.log[0]?.details.reason).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
    await wrong.stop()
    expect(receiver.messages).toEqual([])
    world.follow(syslogTarget({ host: HOST, port: receiver.port, transport: 'tls', tls: { ca } }))
    await until('all messages', () => receiver.messages.length === 30)
    expect(receiver.faults).toEqual([])
    await assertDelivered(
      receiver.messages.map(({ text }) => text),
      30,
    )
  })

  it('over UDP, a datagram each', async () => {
    const world = await openFollowWorld()
    const receiver = await datagramReceiver()
    await world.work(20)
    world.follow(syslogTarget({ host: HOST, port: receiver.port, transport: 'udp' }))
    await until('all messages', () => receiver.messages.length === 20)
    await assertDelivered(
      receiver.messages.map(({ text }) => text),
      20,
    )
  })

  it('over UDP again while no one listens', async () => {
    const world = await openFollowWorld()
    await world.work(1)
    world.follow(syslogTarget({ host: HOST, port: 9, transport: 'udp' }))
    await until('a refusal', () => world.log.some(({ details }) => details.reason === 'ECONNREFUSED'))
  })
})

describe('a message', () => {
  it('has a severity by its outcome, and six decimals', () => {
    const message = { text: 'CEF: é | 日本', timestamp: '2026-11-21T10:09:50.792123456Z', action: 'GET' }
    const parsed = [200, 401, 500].map((code) => parseSyslog(syslogMessage({ ...message, code })))
    expect(parsed.map(({ severity }) => severity)).toEqual([6, 4, 3])
    expect(parsed[0]).toMatchObject({ timestamp: '2026-11-21T10:09:50.792123Z', id: 'GET', text: message.text })
  })

  it('that is longer than a datagram is cut, which is said', async () => {
    const receiver = await datagramReceiver()
    let cut = 0
    const target = syslogTarget({ host: HOST, port: receiver.port, transport: 'udp', onCut: () => cut++ })
    const long = { text: 'x'.repeat(100_000), timestamp: '2026-11-21T10:09:50.792123456Z', action: 'GET', code: 200 }
    await target.deliver([long], new AbortController().signal)
    await until('a message', () => receiver.messages.length === 1)
    expect(cut).toBe(1)
    expect(receiver.messages[0]?.text.length).toBeGreaterThan(64_000)
  })
})
