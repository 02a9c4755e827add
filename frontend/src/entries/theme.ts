// Sets the theme before the first paint: loaded as a blocking script in <head>, so that no page flashes.
import { shareTheme } from '../lib/shared';
import { apply, chosen, store, stored, toggle } from '../lib/theme';

apply(chosen());
shareTheme({ store, stored, toggle });
