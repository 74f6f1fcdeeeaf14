/** A file is clean only if the daemon had all of it, said exactly so and nothing else, whatever it does at random; a scanner that trusts the first reply is caught. */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { clamdScanner, type FileScanner } from '../../src/adapters/scanner/index.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { type ClamdSession, type FakeClamd, parsePieces, startFakeClamd } from '../support/scanner/fake-clamd.ts'
import { fileOf } from '../support/scanner/scanned-file.ts'

const SEED = 'scanner verdicts'
const CASES = 200
const REPLIES = ['stream: OK', 'stream: OK', 'stream: OK', 'stream: Test.Found FOUND', 'stream: x ERROR', 'stream: ok', 'OK', '']

/** What a session with the daemon came to. */
interface Outcome {
  readonly session: ClamdSession
  sent: string
}

let clamd: FakeClamd
beforeAll(async () => {
  clamd = await startFakeClamd()
})
afterAll(() => clamd.stop())

/** Replies to a file, mostly at its end, in parts or twice, and closes or cuts the connection. */
async function behaveAtRandom(
  random: SeededRandom,
  { session, ...outcome }: Outcome,
  note: (sent: string) => void,
): Promise<void> {
  const isEarly = random.chance(0.3)
  if (isEarly) await Promise.race([session.atLeast(random.below(200_000)), session.whole()])
  else await session.whole()
  if (random.chance(0.1)) return void session.socket.resetAndDestroy()
  const isProbe = parsePieces(session.received()).content.subarray(0, 2).toString() === 'PK'
  const reply = isProbe && random.chance(0.9) ? 'stream: Heuristics.Encrypted.Zip FOUND' : random.pick(REPLIES)
  const text = `${reply}${random.chance(0.9) ? '\0' : ''}${random.chance(0.1) ? `${random.pick(REPLIES)}\0` : ''}`
  const cut = random.chance(0.2) ? random.below(text.length) : text.length
  note(outcome.sent + text)
  session.socket.write(text.slice(0, cut))
  await new Promise(setImmediate)
  // A daemon that stops reading after an early reply cannot be distinguished from one that has read all.
  if (!isEarly && random.chance(0.1)) session.socket.destroy()
  else session.socket.end(text.slice(cut))
}

/** Scans random files with a daemon that behaves at random. Returns the number of clean ones; throws if one should not have been. */
async function countClean(scanner: FileScanner, random: SeededRandom): Promise<number> {
  let clean = 0
  for (let index = 0; index < CASES; index++) {
    const turn = random.fork(String(index))
    const outcomes: Outcome[] = []
    clamd.behave((session) => {
      const outcome: Outcome = { session, sent: '' }
      outcomes.push(outcome)
      const note = (sent: string): void => {
        outcome.sent = sent
      }
      return behaveAtRandom(turn, outcome, note)
    })
    const content = turn.bytes(turn.below(turn.pick([10, 1000, 200_000])))
    const verdict = await scanner.scan(fileOf(content, turn.below(100_000) + 1)).catch(() => 'failed')
    await clamd.idle()
    if (verdict !== 'clean') continue
    clean++
    const last = outcomes.at(-1)
    const received = parsePieces(last?.session.received() ?? Buffer.alloc(0))
    expect({ case: index, isWhole: received.isWhole, isEqual: received.content.equals(content), sent: last?.sent }).toEqual({
      case: index,
      isWhole: true,
      isEqual: true,
      sent: 'stream: OK\0',
    })
  }
  return clean
}

it(`nothing but a whole scan is clean (seed "${SEED}")`, async () => {
  expect(await countClean(clamdScanner(clamd.address), seededRandom(SEED))).toBeGreaterThan(CASES / 20)
})

it('a scanner that trusts the first reply is caught', async () => {
  const trusting: FileScanner = {
    async scan({ content }) {
      const socket = connect(clamd.address).on('error', () => {})
      const reply = new Promise<string>((resolve) => {
        socket.on('data', (bytes) => resolve(bytes.toString())).on('close', () => resolve(''))
      })
      socket.write('zINSTREAM\0')
      for await (const chunk of content) {
        const length = Buffer.alloc(4)
        length.writeUInt32BE(chunk.length)
        socket.write(length)
        socket.write(chunk)
      }
      socket.write(Buffer.alloc(4))
      const text = await reply
      socket.destroy()
      return text.startsWith('stream: OK') ? 'clean' : 'infected'
    },
  }
  await expect(countClean(trusting, seededRandom(SEED))).rejects.toThrow('case')
})
