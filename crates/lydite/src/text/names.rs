//! Names in a text, told by their capitals.

use std::ops::Range;

use super::segment::{Segment, sentences};

/// A run of capitalised words, or a word with capitals or digits within (`iPhone`, `B12`, `NASA`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// In bytes of the text.
    pub span: Range<usize>,
    /// How sure the capitals are.
    pub evidence: Evidence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The capital stands within a sentence, or the form alone tells.
    Capital,
    /// One word at a sentence's beginning that is a common given name or place.
    Known,
    /// One word at a sentence's beginning: any noun would be written so.
    SentenceStart,
}

/// The names of a text, in order.
///
/// Function words at a sentence's beginning are none, and are cut from longer names there. Weekdays and months are
/// dates (see [`quantities`](super::quantities)), not names. A text that is mostly capitals, such as a headline, has
/// none that could be told, and in languages that capitalise every noun these are nouns.
pub fn names(text: &str) -> Vec<Name> {
    let words = words(text);
    if mostly_capitals(text) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let end = run_end(text, &words, at);
        if let Some(name) = words.get(at..end).and_then(|run| name(run)) {
            found.push(name);
        }
        at = end.max(at + 1);
    }
    found
}

struct Word<'t> {
    text: &'t str,
    start: usize,
    /// It is the first of its sentence, of a quotation, or of an item.
    opens: bool,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Capitals or digits where ordinary words have none.
    fn has_form(&self) -> bool {
        let letters = self.text.chars().filter(|c| c.is_alphabetic()).count();
        let capital_within = self.text.chars().skip(1).any(char::is_uppercase);
        let digits = self.text.chars().any(|c| c.is_ascii_digit());
        let begins_in_letter = self.text.starts_with(char::is_alphabetic);
        begins_in_letter && ((letters > 1 && capital_within) || digits)
    }

    fn is_capital(&self) -> bool {
        self.has_form() || self.text.starts_with(char::is_uppercase)
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut from = 0;
    for Segment { text: sentence, .. } in sentences(text) {
        let begin = text
            .get(from..)
            .and_then(|rest| rest.find(sentence))
            .map_or(from, |at| from + at);
        from = begin + sentence.len();
        let mut opens = !words
            .last()
            .is_some_and(|word: &Word<'_>| is_shortened(word.text));
        for (at, piece) in pieces(sentence) {
            words.push(Word {
                text: piece,
                start: begin + at,
                opens: std::mem::take(&mut opens),
            });
            let after = sentence
                .get(at + piece.len()..)
                .unwrap_or_default()
                .trim_start();
            opens = after.starts_with([':', '"', '“', '*', '\n', '•', '(']);
        }
    }
    words
}

/// Maximal runs of letters, digits and inner marks (`O'Neill`, `Creighton-Ward`, `J.K.`).
fn pieces(sentence: &str) -> Vec<(usize, &str)> {
    let inner = |c: char| matches!(c, '\'' | '’' | '-' | '.' | '&');
    let mut pieces = Vec::new();
    let mut rest = sentence;
    let mut at = 0;
    while let Some(skip) = rest.find(char::is_alphanumeric) {
        let body = rest.get(skip..).unwrap_or_default();
        let mut chars = body.char_indices().peekable();
        let mut length = body.len();
        while let Some((index, c)) = chars.next() {
            let joins = inner(c) && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
            if !(c.is_alphanumeric() || joins) {
                length = index;
                break;
            }
        }
        pieces.push((at + skip, body.get(..length).unwrap_or_default()));
        at += skip + length;
        rest = body.get(length..).unwrap_or_default();
    }
    pieces
}

/// The index after the capitalised run at `at`, with small words (`of`, `van`) inside.
fn run_end(text: &str, words: &[Word<'_>], at: usize) -> usize {
    let mut end = at;
    while let Some(word) = words
        .get(end)
        .filter(|word| word.is_capital() && !is_date(word.text))
    {
        if end > at && (word.opens || !joined(text, words, end)) {
            break;
        }
        end += 1;
        let small = words
            .get(end)
            .is_some_and(|word| INNER.contains(&word.text));
        let goes_on = words
            .get(end + 1)
            .is_some_and(|word| word.is_capital() && !is_date(word.text));
        if small && goes_on && joined(text, words, end) && joined(text, words, end + 1) {
            end += 1;
        }
    }
    end
}

/// Nothing but spaces, or the point of an initial, stands between a word and the one before.
fn joined(text: &str, words: &[Word<'_>], at: usize) -> bool {
    let Some((before, word)) = at
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .zip(words.get(at))
    else {
        return false;
    };
    let between = text.get(before.end()..word.start).unwrap_or_default();
    let between_words = between.trim();
    !between.contains('\n')
        && (between_words.is_empty() || (between_words == "." && is_shortened(before.text)))
}

/// An initial, an abbreviation or a title: a point after it ends no sentence.
fn is_shortened(word: &str) -> bool {
    let letter = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    letter || word.contains('.') || TITLES.contains(&word)
}

/// A run as a name, without the function words before it.
fn name(run: &[Word<'_>]) -> Option<Name> {
    let skip = run
        .iter()
        .take_while(|word| is_function_word(word.text) && !word.has_form())
        .count();
    let run = run.get(skip..)?;
    let (first, last) = (run.first()?, run.last()?);
    let lonely = run.len() == 1 && skip == 0 && first.opens && !first.has_form();
    let evidence = match (lonely, is_known(first.text)) {
        (false, _) => Evidence::Capital,
        (true, true) => Evidence::Known,
        (true, false) => Evidence::SentenceStart,
    };
    let single = run.len() == 1 && first.text.chars().count() == 1;
    (!single).then(|| Name {
        span: first.start..last.end() - possessive(last.text),
        evidence,
    })
}

/// The bytes of a possessive's ending.
fn possessive(word: &str) -> usize {
    ["'s", "’s"]
        .iter()
        .find(|ending| word.ends_with(**ending))
        .map_or(0, |ending| ending.len())
}

fn mostly_capitals(text: &str) -> bool {
    let (mut upper, mut lower) = (0, 0);
    for c in text.chars().take(2000) {
        upper += usize::from(c.is_uppercase());
        lower += usize::from(c.is_lowercase());
    }
    upper > 8 && upper > lower
}

fn is_date(word: &str) -> bool {
    DATES.contains(&word.trim_end_matches("'s"))
}

fn is_function_word(word: &str) -> bool {
    let word = word.to_lowercase();
    let stem = word.split(['\'', '’']).next().unwrap_or_default();
    FUNCTION_WORDS.contains(&stem) || FUNCTION_WORDS.contains(&word.as_str())
}

fn is_known(word: &str) -> bool {
    let word = &word.get(..word.len() - possessive(word)).unwrap_or(word);
    KNOWN.contains(word)
}

const INNER: [&str; 13] = [
    "of", "the", "de", "da", "del", "der", "van", "von", "la", "le", "al", "bin", "du",
];

const TITLES: [&str; 10] = [
    "Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Sr", "Jr", "Gen", "Lt",
];

const DATES: [&str; 19] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[rustfmt::skip]
const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "the", "this", "that", "these", "those", "i", "you", "he", "she", "it", "we", "they", "my", "your",
    "his", "her", "its", "our", "their", "there", "here", "what", "which", "who", "whom", "whose", "when", "where",
    "why", "how", "if", "then", "else", "because", "since", "while", "although", "though", "unless", "until", "as",
    "at", "by", "for", "from", "in", "into", "of", "off", "on", "onto", "out", "over", "to", "up", "with", "without",
    "within", "under", "after", "before", "during", "between", "among", "about", "against", "and", "or", "but", "nor",
    "so", "yet", "not", "no", "yes", "all", "any", "both", "each", "every", "few", "many", "more", "most", "much",
    "neither", "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "other", "some",
    "several", "such", "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "have",
    "has", "had", "can", "could", "may", "might", "must", "shall", "should", "will", "would", "please", "however",
    "also", "therefore", "thus", "hence", "moreover", "furthermore", "additionally", "overall", "finally", "first",
    "second", "third", "next", "last", "only", "just", "even", "still", "yes", "sure", "sorry", "unfortunately",
    "according", "based", "see", "let", "note", "once", "now", "today", "tomorrow", "yesterday", "never", "always",
    "often", "sometimes", "usually", "generally", "typically", "currently", "approximately", "around", "nearly",
    "almost", "well", "ok", "okay", "answer", "question", "nobody", "nothing", "everyone", "everything", "someone",
    "something", "anyone", "anything", "another", "whether", "whereas", "like", "unlike", "due", "despite", "upon",
    "per", "via", "than", "too", "very", "quite", "rather", "perhaps", "maybe", "indeed", "instead", "otherwise",
];

/// Given names and places that often begin a sentence.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "Aaron", "Abdul", "Abigail", "Adam", "Adrian", "Ahmed", "Aisha", "Akira", "Alan", "Albert", "Alejandro", "Alex",
    "Alexander", "Alexandra", "Alexei", "Alfred", "Ali", "Alice", "Alicia", "Alison", "Amanda", "Amelia", "Amir",
    "Amit", "Amy", "Ana", "Anders", "Andre", "Andrea", "Andrew", "Andy", "Angela", "Anita", "Ann", "Anna", "Anne",
    "Anthony", "Anton", "Antonio", "Arthur", "Ashley", "Astrid", "Barbara", "Beatrice", "Ben", "Benjamin", "Bernard",
    "Beth", "Bill", "Bob", "Boris", "Brandon", "Brian", "Bruce", "Bruno", "Carl", "Carla", "Carlos", "Carmen",
    "Carol", "Caroline", "Catherine", "Cecilia", "Charles", "Charlie", "Charlotte", "Chen", "Chloe", "Chris",
    "Christian", "Christina", "Christine", "Christopher", "Claire", "Clara", "Claudia", "Colin", "Connor", "Craig",
    "Cynthia", "Daisy", "Dan", "Daniel", "Daniela", "Dave", "David", "Deborah", "Dennis", "Diana", "Diego", "Dmitri",
    "Donald", "Donna", "Dorothy", "Douglas", "Dylan", "Ed", "Edward", "Elena", "Eleanor", "Eli", "Elizabeth", "Ella",
    "Ellen", "Emily", "Emma", "Eric", "Erik", "Erika", "Ethan", "Eva", "Eve", "Evelyn", "Fatima", "Felix", "Fernando",
    "Fiona", "Florence", "Frances", "Francis", "Francisco", "Frank", "Fred", "Freya", "Gabriel", "Gary", "George",
    "Gerald", "Gloria", "Grace", "Greg", "Gustav", "Hannah", "Hans", "Harold", "Harry", "Hassan", "Heather", "Helen",
    "Helena", "Henry", "Hiroshi", "Hugo", "Ian", "Ibrahim", "Igor", "Ines", "Ingrid", "Irene", "Isaac", "Isabel",
    "Isabella", "Ivan", "Jack", "Jackson", "Jacob", "James", "Jan", "Jane", "Janet", "Jasmine", "Jason", "Javier",
    "Jean", "Jeff", "Jennifer", "Jenny", "Jeremy", "Jessica", "Jim", "Joan", "Joanna", "Joe", "John", "Jonas",
    "Jonathan", "Jorge", "Jose", "Joseph", "Joshua", "Juan", "Judith", "Julia", "Julian", "Julie", "Justin", "Karen",
    "Karl", "Kate", "Katherine", "Kathleen", "Katie", "Keith", "Kelly", "Ken", "Kenji", "Kevin", "Kim", "Lara",
    "Larry", "Laura", "Lauren", "Leah", "Lee", "Lena", "Leo", "Leon", "Lewis", "Li", "Liam", "Linda", "Lisa", "Liz",
    "Louis", "Louise", "Lucas", "Lucy", "Luis", "Luke", "Lydia", "Magnus", "Marco", "Marcus", "Margaret", "Maria",
    "Marie", "Marina", "Mario", "Marta", "Martha", "Martin", "Mary", "Matt", "Matthew", "Max", "Maya", "Mehmet", "Mei",
    "Melissa", "Mia", "Michael", "Michelle", "Miguel", "Mike", "Mohamed", "Mohammed", "Monica", "Muhammad", "Nadia",
    "Naomi", "Natalia", "Natalie", "Natasha", "Nathan", "Neil", "Nicholas", "Nick", "Nicola", "Nicole", "Nikolai",
    "Nina", "Noah", "Nora", "Oliver", "Olivia", "Omar", "Oscar", "Otto", "Pablo", "Pamela", "Patricia", "Patrick",
    "Paul", "Paula", "Pavel", "Pedro", "Peter", "Petra", "Philip", "Pierre", "Priya", "Rachel", "Raj", "Ralph",
    "Raymond", "Rebecca", "Ricardo", "Richard", "Rita", "Robert", "Roberto", "Robin", "Roger", "Ron", "Ronald",
    "Rosa", "Rose", "Ruth", "Ryan", "Sally", "Sam", "Samantha", "Samuel", "Sandra", "Sara", "Sarah", "Scott", "Sean",
    "Sebastian", "Sergei", "Sharon", "Simon", "Sofia", "Sonia", "Sophia", "Sophie", "Stefan", "Stella", "Stephanie",
    "Stephen", "Steve", "Steven", "Stuart", "Susan", "Sven", "Sylvia", "Tanya", "Tara", "Ted", "Teresa", "Theo",
    "Theresa", "Thomas", "Tim", "Timothy", "Tina", "Tom", "Tony", "Tyler", "Valentina", "Vanessa", "Vera", "Veronica",
    "Victor", "Victoria", "Vincent", "Viktor", "Virginia", "Vladimir", "Walter", "Wei", "Wendy", "William", "Xavier",
    "Yan", "Yasmin", "Yuki", "Yusuf", "Yvonne", "Zachary", "Zara", "Zoe",
    "Africa", "Alaska", "Amazon", "America", "Amsterdam", "Antarctica", "Apple", "Argentina", "Arizona", "Asia",
    "Athens", "Atlanta", "Auckland", "Australia", "Austria", "Baghdad", "Bangkok", "Bangladesh", "Barcelona", "Bavaria",
    "Beijing", "Belgium", "Berlin", "Bogota", "Bolivia", "Bombay", "Boston", "Brazil", "Brisbane", "Britain",
    "Brussels", "Bucharest", "Budapest", "Bulgaria", "Cairo", "California", "Cambodia", "Canada", "Chicago", "Chile",
    "China", "Colombia", "Colorado", "Copenhagen", "Croatia", "Cuba", "Cyprus", "Dallas", "Delhi", "Denmark", "Denver",
    "Detroit", "Dubai", "Dublin", "Earth", "Ecuador", "Edinburgh", "Egypt", "England", "Estonia", "Ethiopia", "Europe",
    "Facebook", "Finland", "Florida", "France", "Frankfurt", "Geneva", "Georgia", "Germany", "Ghana", "Glasgow",
    "Google", "Greece", "Greenland", "Hamburg", "Hanoi", "Havana", "Hawaii", "Helsinki", "Houston", "Hungary",
    "Iceland", "India", "Indonesia", "Intel", "Iran", "Iraq", "Ireland", "Israel", "Istanbul", "Italy", "Jakarta",
    "Jamaica", "Japan", "Jerusalem", "Jordan", "Jupiter", "Kenya", "Kyoto", "Lagos", "Lebanon", "Lima", "Lisbon",
    "Lithuania", "Liverpool", "London", "Luxembourg", "Madrid", "Malaysia", "Malta", "Manchester", "Manila", "Mars",
    "Melbourne", "Mercury", "Mexico", "Miami", "Microsoft", "Milan", "Montreal", "Morocco", "Moscow", "Mumbai",
    "Munich", "Nairobi", "Naples", "Nepal", "Neptune", "Netflix", "Netherlands", "Nigeria", "Norway", "Ohio", "Oregon",
    "Osaka", "Oslo", "Pakistan", "Panama", "Paris", "Peru", "Philadelphia", "Philippines", "Poland", "Portugal",
    "Prague", "Quebec", "Romania", "Rome", "Rotterdam", "Russia", "Saturn", "Scotland", "Seattle", "Seoul", "Serbia",
    "Shanghai", "Siberia", "Singapore", "Slovakia", "Slovenia", "Somalia", "Spain", "Stockholm", "Sudan", "Sweden",
    "Switzerland", "Sydney", "Syria", "Taiwan", "Texas", "Thailand", "Tokyo", "Toronto", "Toyota", "Tunisia", "Turkey",
    "Twitter", "Uganda", "Ukraine", "Uranus", "Uruguay", "Vancouver", "Venezuela", "Venice", "Venus", "Vienna",
    "Vietnam", "Wales", "Warsaw", "Washington", "Wellington", "Yemen", "Zimbabwe", "Zurich",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<(&str, Evidence)> {
        let names = names(text).into_iter();
        names
            .map(|name| (&text[name.span], name.evidence))
            .collect()
    }

    #[test]
    fn names_are_told_by_their_capitals() {
        use Evidence::{Capital, Known, SentenceStart};
        let table: [(&str, &[(&str, Evidence)]); 17] = [
            ("The report is by Maria Gomez.", &[("Maria Gomez", Capital)]),
            (
                "Maria wrote it. Refunds wait.",
                &[("Maria", Known), ("Refunds", SentenceStart)],
            ),
            ("The Eiffel Tower is high.", &[("Eiffel Tower", Capital)]),
            ("It is he.", &[]),
            (
                "Ask Anna or Bob.",
                &[("Ask Anna", Capital), ("Bob", Capital)],
            ),
            (
                "Take vitamin B12 with the iPhone.",
                &[
                    ("Take", SentenceStart),
                    ("B12", Capital),
                    ("iPhone", Capital),
                ],
            ),
            ("NASA's launch", &[("NASA", Capital)]),
            (
                "the University of Oxford",
                &[("University of Oxford", Capital)],
            ),
            (
                "On Monday, in April, with Peter's dog",
                &[("Peter", Capital)],
            ),
            (
                "by J.K. Rowling and Dr. Who",
                &[("J.K. Rowling", Capital), ("Dr. Who", Capital)],
            ),
            (
                "the O'Neill and Creighton-Ward case",
                &[("O'Neill", Capital), ("Creighton-Ward", Capital)],
            ),
            (
                "in Rome, Paris and Oslo",
                &[("Rome", Capital), ("Paris", Capital), ("Oslo", Capital)],
            ),
            ("THE STORE CLOSES AT NINE", &[]),
            ("the store closes", &[]),
            ("seen by Ömer Çelik", &[("Ömer Çelik", Capital)]),
            ("and I know", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn spans_are_slices_of_any_text(text in r"(The |Anna |of |[A-Ca-c'’.é日\n ]){0,12}") {
            for name in names(&text) {
                prop_assert!(text.get(name.span).is_some_and(|name| !name.is_empty()));
            }
        }
    }
}
