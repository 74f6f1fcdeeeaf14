/** What the pages of a table and of a record say where the caller has no table of that name. */
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

/** Says the same of a table that is hidden and of one that does not exist. */
export function NoSuchTable() {
  return (
    <Page title="No such table">
      <Empty title="No such table.">
        <p>It does not exist, or your roles are not granted anything on it.</p>
      </Empty>
    </Page>
  )
}
