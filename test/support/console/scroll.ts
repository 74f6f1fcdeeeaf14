/**
 * Scrolls a long table of the console in Chromium: the main thread's own CPU time of a frame, and whether a walk to the end shows each record once.
 * `npm run console-scroll -- [--rows N] [--frames N]`
 */
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openConsoleVault } from './console-vault.ts'
import { openConsoleOn } from './open-console.ts'
import { walkRows } from './walk-rows.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, frames: { type: 'string', default: '300' } },
})
const [rows, frames] = [Number(values.rows), Number(values.frames)]

/** Seconds that the main thread worked, by what it did. */
const PARTS = { script: 'ScriptDuration', style: 'RecalcStyleDuration', layout: 'LayoutDuration', all: 'TaskDuration' } as const

const opened = await openConsoleOn(await openConsoleVault({ extra: rows }))
try {
  const { page } = await opened.signedIn('desk', '/tables/customers')
  await page.locator('[role=gridcell] .value').first().waitFor()
  const readWork = await workMeter(page)
  for (const [name, pixels] of [
    ['wheel', 120],
    ['flung', 2400],
  ] as const) {
    const before = await readWork()
    await scrollBy(page, pixels)
    const after = await readWork()
    const figures = Object.keys(PARTS).map((part) => {
      const seconds = (after[part as keyof typeof PARTS] ?? 0) - (before[part as keyof typeof PARTS] ?? 0)
      return `${part} ${((seconds * 1000) / frames).toFixed(1)}`
    })
    console.log(`${name}, ${pixels} px a frame: ms of the main thread a frame: ${figures.join(', ')}`)
  }
  await page.locator('[role=grid]').evaluate((grid) => grid.scrollTo(0, 0))
  const started = performance.now()
  const { ids, elements } = await walkRows(page)
  const heap = await page.evaluate(() => Number(Reflect.get(Reflect.get(performance, 'memory') ?? {}, 'usedJSHeapSize')) / 1e6)
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(
    `walked ${ids.length} rows, ${new Set(ids).size} ids, at most ${elements} elements, heap ${heap.toFixed(0)} MB, ${seconds} s`,
  )
} finally {
  await opened.close()
}

/** Returns a function that reads the work of the main thread, in seconds of its own CPU. */
async function workMeter(page: Page): Promise<() => Promise<Partial<Record<keyof typeof PARTS, number>>>> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await devTools.send('Performance.getMetrics')
    return Object.fromEntries(
      Object.entries(PARTS).map(([part, metric]) => [part, metrics.find(({ name }) => name === metric)?.value ?? 0]),
    )
  }
}

async function scrollBy(page: Page, pixels: number): Promise<void> {
  await page.locator('[role=grid]').evaluate(
    async (grid, [step, count]) => {
      for (let frame = 0; frame < count; frame++) {
        grid.scrollTop += step
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
    },
    [pixels, frames] as const,
  )
}
