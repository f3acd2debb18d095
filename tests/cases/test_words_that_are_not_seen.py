"""Texts in scripts without spaces, and names: what a query and a document have in common is found, in every part.

The search is made up: 300 queries on 3,000 texts in five languages, with texts that nearly answer them. Words share
their characters with other words (大学, 学生, 生活), and Chinese, Japanese and Thai are written without spaces. A text
answers a query if it has both of its words. Half of a query's other texts have one of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.entities import Entities
from recx.core.protocols import FittedRanker
from recx.core.ragged import indptr_of
from recx.core.types import Array, Bools, Interactions, RankedLists, Requests
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.feature.past_tasks import PastWords
from recx.parts.feature.tool import Naming
from recx.parts.feature.words import Bm25 as Bm25Feature
from recx.parts.ranker.bm25 import Bm25
from recx.parts.ranker.cosine import Cosine
from recx.storage.cache.keys import key_of_part

WORDS = {
    "Chinese": """
        大学 学生 生活 活动 动物 物理 理论 论文 文学 学校 校园 园林 林业 业务 务实 实验 验证 证明 明天 天气 气候 候选
        选择 择校 电脑 电话 话题 题目 目标 标准 准备 备用 用户 户外 外国 国家 家庭 庭院 院子 北京 京城 城市 市场 场地
        地图 图书馆 书店 店铺 上海 海洋 洋葱 手机 机场 机器 机器人 人工 人工智能 智能 能源 源头 头发 发票 票价 价格
        格式 式样 银行 行业 音乐 乐器 器材 材料 料理 医院 医生 药店 火车 车站 站台 台风 风景 景点 点心 心理 水果 果汁
        茶叶 猫 狗 茶 米饭 饭店""",
    "Japanese": """
        東京 東京駅 京都 都市 市場 大阪 天気 天気予報 予約 電車 電話 自動車 車両 日本語 言語 料理 ラーメン カレー
        ホテル ホームページ メール コンピュータ コーヒー ひまわり さくら お茶 すし 図書館 映画館 映画 音楽 学校 学生
        先生 病院 会社""",
    "Thai": """
        ประเทศ อากาศ พยากรณ์ โรงเรียน โรงแรม โรงพยาบาล นักเรียน นักข่าว ข่าว หนังสือ ร้านอาหาร อาหาร น้ำ น้ำตาล
        รถไฟ รถยนต์ สนามบิน เครื่องบิน ตั๋ว ราคา ตลาด ทะเล ภูเขา เมือง ดนตรี กีฬา ฟุตบอล กาแฟ ชา ผลไม้ มะม่วง
        ธนาคาร โทรศัพท์""",
    "Korean": "날씨 학교 학생 병원 은행 음악 영화 도서관 지하철 공항 호텔 시장 가격 요리 커피 축구 여행 바다",
    "English": """
        weather school student hospital bank music movie library subway station airport hotel market price recipe
        coffee football travel ocean walk company phone photo letter""",
}
FILLER = {
    "Chinese": "我们 可以 一个 没有 的 了 是 在 和 请问 怎么 因为 所以 今年 非常 需要 知道 他们 已经 还有",
    "Japanese": "です ます の は が を に と です から まで とても について ください ありました",
    "Thai": "ที่ และ ของ เป็น ได้ มาก ครับ ค่ะ ใน การ ไม่ จะ ให้ มี",
    "Korean": "그리고 매우 오늘 우리 있는 없는 정말 하지만 어제 많은",
    "English": "the a of and is in very today we there but yesterday many it",
}
QUERIES = {"Chinese": 120, "Japanese": 60, "Thai": 60, "Korean": 30, "English": 30}
SPACED = ("Korean", "English")
TEXTS, RIGHT, HALF = 10, 2, 4  # texts made for a query; of these, with both of its words, and with one

Text = tuple[str, list[str]]
"""The language, and the words in order."""


@dataclass(frozen=True, eq=False)
class Search:
    """Queries, documents, and which document answers which query [n_queries, n_documents]."""

    queries: list[Text]
    documents: list[Text]
    right: Bools

    def ndcg(self, ranker: FittedRanker, queries: Array, documents: Array) -> dict[str, float]:
        """Return the mean of ndcg_at_10 by language, of a ranker of all documents as these texts."""
        lists, history, requests = world(queries, documents)
        ranked = ranker.rank(lists, history, requests).top(10)
        gain = self.right[ranked.user[ranked.list_of_row], ranked.item].reshape(len(queries), 10)
        discount = 1 / np.log2(np.arange(2, 12))
        ideal = np.array([discount[: min(10, n)].sum() for n in self.right.sum(axis=1)])
        values, language = (gain @ discount) / ideal, np.array([language for language, _ in self.queries])
        return {one: float(values[language == one].mean()) for one in QUERIES}


@cache
def search() -> Search:
    rng = np.random.default_rng(0)
    queries: list[Text] = []
    documents: list[Text] = []
    for language, n in QUERIES.items():
        words, filler = np.array(WORDS[language].split()), np.array(FILLER[language].split())
        for _ in range(n):
            pair = rng.choice(words, 2, replace=False)
            queries.append((language, pair.tolist()))
            for place in range(TEXTS):
                own = pair if place < RIGHT else pair[place % 2 :][:1] if place < RIGHT + HALF else pair[:0]
                other = rng.choice(words, rng.integers(3, 8), replace=False)
                said = [*own, *other, *rng.choice(filler, rng.integers(4, 12))]
                documents.append((language, rng.permutation(said).tolist()))
    right = [[one == other and set(pair) <= set(said) for other, said in documents] for one, pair in queries]
    return Search(queries, documents, np.array(right))


def written(texts: list[Text]) -> Array:
    return np.array([(" " if language in SPACED else "").join(words) for language, words in texts], dtype=object)


def world(queries: Array, documents: Array) -> tuple[RankedLists, Interactions, Requests]:
    """Return all documents as the candidates of every query, and an empty history."""
    n, users = len(documents), np.arange(len(queries), dtype=np.int32)
    nothing = np.zeros(0, dtype=np.int32)
    names = {"text": documents, "name": documents}
    entities = Entities(users, {"text": queries}), Entities(np.arange(n), names)
    history = Interactions(indptr_of(0 * users), nothing, None, nothing.astype(np.float32), *entities)
    item = np.tile(np.arange(n, dtype=np.int32), len(queries))
    lists = RankedLists(users, indptr_of(np.full(len(queries), n)), item, np.zeros(len(item), dtype=np.float32))
    return lists, history, Requests(users)


def array(*texts: str) -> Array:
    return np.array(texts, dtype=object)


# About 0.02 below what was measured. What is missing to 1 are texts with the characters of both words in other words.
# Words by spaces alone gave 0.01 for Chinese, 0.00 for Japanese and 0.23 for Thai.
LEAST = {
    "bm25": {"Chinese": 0.93, "Japanese": 0.89, "Thai": 0.85, "Korean": 0.98, "English": 0.98},
    "cosine": {"Chinese": 0.88, "Japanese": 0.82, "Thai": 0.79, "Korean": 0.96, "English": 0.96},
}


@pytest.mark.parametrize(("name", "ranker"), [("bm25", Bm25()), ("cosine", Cosine(Tfidf()))])
def test_a_search_in_mixed_scripts_finds_what_answers(name: str, ranker: FittedRanker) -> None:
    made = search()
    assert (len(made.queries), len(made.documents)) == (300, 3000)
    found = made.ndcg(ranker, written(made.queries), written(made.documents))
    assert {language: found[language] for language in QUERIES if found[language] < LEAST[name][language]} == {}


@pytest.mark.filterwarnings("ignore")  # jieba's own
def test_bm25_of_chinese_is_near_that_of_the_words_of_jieba() -> None:
    jieba = pytest.importorskip("jieba")
    jieba.setLogLevel(60)
    made = search()
    queries, documents = written(made.queries), written(made.documents)
    numbers: dict[str, int] = {}

    def cut(text: str) -> str:  # a number for each word, so that it is one word for the analyzer too
        return " ".join(f"w{numbers.setdefault(word, len(numbers))}" for word in jieba.cut(text) if word.strip())

    theirs = made.ndcg(Bm25(), array(*map(cut, queries)), array(*map(cut, documents)))["Chinese"]
    ours = made.ndcg(Bm25(), queries, documents)["Chinese"]
    # 0.954 and 0.989 were measured, with every word in jieba's dictionary, which is the best case for it. What
    # is missing are texts that have the characters of a word in other words. Words by spaces alone gave 0.01.
    assert theirs > 0.95
    assert ours >= theirs - 0.05


CHINESE = [
    "北京天气预报",
    "上海美食推荐",
    "猫咪喜欢喝牛奶",
    "火车票价格查询",
    "机器学习入门课程",
    "红烧肉的做法",
    "世界杯足球赛程",
]
ASKED = ["请问天气怎么样", "哪里有美食", "猫", "怎么查询票价格", "我想学习机器学习", "红烧肉怎么做", "足球"]


@pytest.mark.parametrize("ranker", [Bm25(), Cosine(Tfidf())], ids=["bm25", "cosine"])
def test_exact_keywords_in_a_clause_are_found(ranker: FittedRanker) -> None:
    lists, history, requests = world(array(*ASKED), array(*CHINESE))
    ranked = ranker.rank(lists, history, requests)
    shown = pd.DataFrame({"user": ranked.user[ranked.list_of_row], "item": ranked.item, "score": ranked.score})
    truth = pd.DataFrame({"user": range(7), "item": range(7)})
    assert recx.evaluate(shown, truth, ["ndcg_at_10"]).means["ndcg_at_10"] == 1


PAIRS = [
    ("how do I use a tax calculator", "TaxCalculator"),
    ("call sendSMS for me", "a tool to send an sms"),
    ("what does snake_case do", "the case of a snake"),
    ("FULLWIDTH", "ｆｕｌｌｗｉｄｔｈ letters"),
    ("शब्द", "हिन्दी शब्द"),
    ("मौसम", "आज का मौसम"),
]


@pytest.mark.parametrize(("asked", "said"), PAIRS)
@pytest.mark.parametrize("part", [Bm25(), Cosine(Tfidf())], ids=["bm25", "cosine"])
def test_names_and_marks_are_seen(asked: str, said: str, part: FittedRanker) -> None:
    lists, history, requests = world(array(asked), array("nothing alike", "हाथी भालू", said))
    ranked = part.rank(lists, history, requests)
    assert ranked.item[0] == 2
    assert ranked.score[0] > ranked.score[1] == 0


@pytest.mark.parametrize(
    ("asked", "name", "value"),
    [
        ("use TaxCalculator now", "Tax_Calculator", 1.0),
        ("use a tax calculator", "TaxCalculator", 1.0),
        ("use taxcalculator", "TaxCalculator", 1.0),
        ("a calculator", "TaxCalculator", 0.7),
        ("FooBar BazQux", "FooBar BazQux", 1.0),
        ("Bar now Foo", "FooBar", 0.7),
        ("请查询天气", "天气查询", 0.7),
        ("请做天气查询吧", "天气查询", 1.0),
        ("气很大", "天气查询", 0.3),  # one character is no word of a name
        ("喝茶", "茶", 1.0),
    ],
)
def test_tools_are_named_in_any_spelling(asked: str, name: str, value: float) -> None:
    lists, history, requests = world(array(asked), array(name))
    assert Naming().fit(history)(lists, requests) == pytest.approx([value])


def test_settings_decide_and_are_part_of_the_key_of_the_cache() -> None:
    lists, history, requests = world(array("天气 sendSMS"), array("气", "sms"))
    for kind in (Bm25, Bm25Feature):
        assert np.flatnonzero(scores(kind(), lists, history, requests)).tolist() == [0, 1]
        assert np.flatnonzero(scores(kind(split_names=False), lists, history, requests)).tolist() == [0]
    for kind in (Bm25, Bm25Feature, PastWords, Tfidf, Naming):
        variants = [kind(), kind(split_names=False)] + ([] if kind is Naming else [kind(ngrams=3)])
        assert len({key_of_part(variant) for variant in variants}) == len(variants)


def scores(part: Bm25 | Bm25Feature, lists: RankedLists, history: Interactions, requests: Requests) -> Array:
    if isinstance(part, Bm25Feature):
        return np.asarray(part.fit(history)(lists, requests))
    ranked = part.rank(lists, history, requests)
    return ranked.score[np.argsort(ranked.item)]
