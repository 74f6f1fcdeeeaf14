/** Scrolls the grid from where it is to its end, and reads the id of each row. */
import type { Page } from 'playwright-core'

/** What a walk has seen. */
export interface Walk {
  /** By row: the ids of the records. */
  readonly ids: readonly (string | undefined)[]
  /** Most elements that the page had. */
  readonly elements: number
}

/** Walks. A row that is not read yet is waited for. */
export async function walkRows(page: Page): Promise<Walk> {
  return page.locator('[role=grid]').evaluate(async (grid) => {
    const ids: (string | undefined)[] = []
    let elements = 0
    const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve))
    for (;;) {
      await frame()
      if (grid.querySelector('.grid-row:not(.current) .skeleton') === null) {
        elements = Math.max(elements, document.querySelectorAll('*').length)
        for (const row of grid.querySelectorAll('.grid-row')) {
          const id = row.querySelector('a')?.getAttribute('href')?.split('/').at(-1)
          ids[Number(row.getAttribute('aria-rowindex')) - 2] = id
        }
        if (Math.ceil(grid.scrollTop + grid.clientHeight) >= grid.scrollHeight) return { ids, elements }
        grid.scrollTop += grid.clientHeight - 80
      } else await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })
}
