/** Events to a file that is renamed, copied and cut, left in the middle of a line, and on a full disk. */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { fileTarget, streamTarget } from '../../../src/cli/follow/targets/file-target.ts'
import { assertDelivered, openFollowWorld, until } from '../../support/cli/follow-world.ts'

const linesOf = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []
const message = (text: string) => ({ text, timestamp: '', action: 'GET', code: 200 })
const never = new AbortController().signal

describe('a follower of a vault writes a file', () => {
  it('that is renamed again and again', async () => {
    const world = await openFollowWorld()
    const path = join(world.folder, 'audit.ndjson')
    const following = world.follow(fileTarget(path))
    for (let round = 0; round < 4; round++) {
      await world.work(5)
      await until('a round', () => linesOf(path).length === 5)
      renameSync(path, `${path}.${round}`)
    }
    await world.work(2)
    await until('the last round', () => linesOf(path).length === 2)
    await following.stop()
    const files = [0, 1, 2, 3].map((round) => `${path}.${round}`)
    await assertDelivered([...files, path].flatMap(linesOf), 22)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('that is copied and cut while it writes, and nothing is lost', async () => {
    const world = await openFollowWorld()
    const path = join(world.folder, 'audit.ndjson')
    const following = world.follow(fileTarget(path))
    let isDone = false
    const working = (async () => {
      for (let round = 0; round < 60; round++) {
        await world.work(5)
        await pause(5)
      }
      isDone = true
    })()
    await until('the file', () => existsSync(path))
    const copies: string[] = []
    while (!isDone) {
      await pause(150)
      const copy = `${path}.${copies.length}`
      copyFileSync(path, copy)
      // What is written now is in no copy.
      await pause(20)
      truncateSync(path)
      copies.push(copy)
    }
    await working
    await until('all events', () => new Set([...copies, path].flatMap(linesOf)).size === 300)
    await following.stop()
    expect(copies.length).toBeGreaterThan(1)
    const lines = [...copies, path].flatMap(linesOf)
    await assertDelivered(lines, 300)
    expect(lines.length).toBeGreaterThan(300)
  })

  it('that was cut, although no event follows', async () => {
    const world = await openFollowWorld()
    const path = join(world.folder, 'audit.ndjson')
    world.follow(fileTarget(path))
    await world.work(5)
    await until('five lines', () => linesOf(path).length === 5)
    truncateSync(path)
    await until('five lines again', () => linesOf(path).length === 5)
  })

  it('that ends in the middle of a line after a crash', async () => {
    const world = await openFollowWorld()
    const path = join(world.folder, 'audit.ndjson')
    await world.work(3)
    await world.follow(fileTarget(path)).stop()
    await until('a start', () => world.log.some(({ message }) => message === 'ended'))
    const first = world.follow(fileTarget(path))
    await until('three lines', () => linesOf(path).length === 3)
    await first.stop()
    appendFileSync(path, '{"digest":"0123')
    await world.work(1)
    world.follow(fileTarget(path))
    await until('four lines', () => linesOf(path).length === 4 && readFileSync(path, 'utf8').endsWith('\n'))
    await assertDelivered(linesOf(path), 4)
  })
})

describe('the target of a file', () => {
  it('cuts what is no line, and keeps longer ones', async () => {
    const { folder } = await openFollowWorld()
    const path = join(folder, 'lines')
    for (const [before, after] of [
      ['', ''],
      ['whole\n', 'whole\n'],
      ['cut', ''],
      [`${'x'.repeat(70_000)}\n${'y'.repeat(140_000)}`, `${'x'.repeat(70_000)}\n`],
      ['x'.repeat(200_000), ''],
    ]) {
      writeFileSync(path, before ?? '')
      const target = fileTarget(path)
      await target.deliver([message('new')], never)
      await target.close?.()
      expect(readFileSync(path, 'utf8')).toBe(`${after}new\n`)
    }
  })

  it('opens its file again when it is asked to', async () => {
    const { folder } = await openFollowWorld()
    const path = join(folder, 'lines')
    const target = fileTarget(path)
    await target.deliver([message('one')], never)
    target.reopen?.()
    await target.deliver([message('two')], never)
    await target.close?.()
    expect(linesOf(path)).toEqual(['one', 'two'])
  })

  it('leaves no part of a line on a full disk', async () => {
    const { folder } = await openFollowWorld()
    const path = join(folder, 'lines')
    const script = `
      import { fileTarget } from ${JSON.stringify(join(import.meta.dirname, '../../../src/cli/follow/targets/file-target.ts'))}
      const target = fileTarget(${JSON.stringify(path)})
      const signal = new AbortController().signal
      const message = (text) => ({ text, timestamp: '', action: 'GET', code: 200 })
      await target.deliver([message('one')], signal)
      process.on('SIGXFSZ', () => {})
      const failed = await target.deliver([message('x'.repeat(3000))], signal).catch((error) => error.code)
      await target.deliver([message('two')], signal)
      await target.close()
      console.log(failed)
    `
    // Files end at two blocks of 1024 bytes, where a write takes a part.
    const printed = execFileSync('bash', ['-c', 'ulimit -f 2; exec "$0" --input-type=module -e "$1"', process.execPath, script], {
      // A cache of compiled code would be cut by the limit, too.
      env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    })
    expect(printed.toString().trim()).toBe('EFBIG')
    expect(linesOf(path)).toEqual(['one', 'two'])
  })

  it('passes lines on to a stream', async () => {
    const texts: string[] = []
    await streamTarget(async (text) => void texts.push(text)).deliver([message('a'), message('b')], never)
    expect(texts).toEqual(['a\nb\n'])
  })
})
